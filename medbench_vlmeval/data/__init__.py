"""Benchmark data on this machine: prepared once from a release, then loaded without network."""

from __future__ import annotations

from .columns import ColumnsUnclear
from .finetune import export_finetune, read_id_list
from .finetune_report import FineTuneReport
from .hub import prepare_medebench_from_hub
from .medebench import MedEBenchData, MedEBenchSample, load_medebench, sample_of
from .medq import MedQData, MedQQuestion, load_medq
from .medq_files import medq_names_in
from .medq_prepare import prepare_medq, prepare_medq_from_hub, prepare_medq_release
from .medq_rows import MedQRelease, MedQRow
from .medq_sample import prepare_medq_sample
from .medq_tables import (
    MEDQ_TABLE_NAMED,
    MEDQ_TABLES,
    QUESTION_TYPES,
    MedQTable,
)
from .medsg import MedSGData, MedSGSample, load_medsg
from .medsg_prepare import prepare_medsg, prepare_medsg_from_hub
from .medsg_sample import prepare_medsg_sample
from .medsg_tasks import MEDSG_RELEASE_NAME, MEDSG_SAMPLE_PACK_NAME, MEDSG_TASKS, MedSGTask
from .places import RELEASE_NAME, SAMPLE_PACK_NAME, data_root_of, lmu_root
from .prepare import prepare_medebench
from .prepare_report import PrepareReport
from .remedies import DataNotPrepared
from .sample_pack import prepare_medebench_sample
from .store import DataWouldChange
from .verify import VerifyReport, verify_data

__all__ = [
    "MEDQ_TABLES",
    "MEDQ_TABLE_NAMED",
    "MEDSG_RELEASE_NAME",
    "MEDSG_SAMPLE_PACK_NAME",
    "MEDSG_TASKS",
    "QUESTION_TYPES",
    "RELEASE_NAME",
    "SAMPLE_PACK_NAME",
    "ColumnsUnclear",
    "DataNotPrepared",
    "DataWouldChange",
    "FineTuneReport",
    "MedEBenchData",
    "MedEBenchSample",
    "MedQData",
    "MedQQuestion",
    "MedQRelease",
    "MedQRow",
    "MedQTable",
    "MedSGData",
    "MedSGSample",
    "MedSGTask",
    "PrepareReport",
    "VerifyReport",
    "data_root_of",
    "export_finetune",
    "lmu_root",
    "load_medebench",
    "load_medq",
    "load_medsg",
    "medq_names_in",
    "prepare_medebench",
    "prepare_medebench_from_hub",
    "prepare_medebench_sample",
    "prepare_medq",
    "prepare_medq_from_hub",
    "prepare_medq_release",
    "prepare_medq_sample",
    "prepare_medsg",
    "prepare_medsg_from_hub",
    "prepare_medsg_sample",
    "read_id_list",
    "sample_of",
    "verify_data",
]
