"""The ledger speaks of metrics, groups and data sets as a run here does."""

from __future__ import annotations

import json

from medbench_vlmeval.data.medq_tables import MEDQ_TABLE_NAMED
from medbench_vlmeval.data.medsg_tasks import MEDSG_TASKS, N_PUBLISHED_MEDSG, TASK_OF_KEY
from medbench_vlmeval.evaluation import (
    medebench_metrics,
    medq_perception_metrics,
    medq_reasoning_metrics,
    medsg_metrics,
)
from medbench_vlmeval.official.medebench import ORGAN_COUNTS
from medbench_vlmeval.report.published import PublishedCell, published_cells, tables
from medbench_vlmeval.types import MetricInfo

from ..shared import shared_path

METRICS: dict[str, MetricInfo] = {
    metric.name: metric
    for module in (
        medebench_metrics,
        medq_perception_metrics,
        medq_reasoning_metrics,
        medsg_metrics,
    )
    for metric in module.METRICS
}
SHOTS = tuple(f"MedEBench_{n}shot_test" for n in (1, 2, 3))
DATASETS = {
    "MedEBench": {"MedEBench_test", *SHOTS},
    "MedSG-Bench": {"MedSG_test", *(task.dataset for task in MEDSG_TASKS)},
    "MedQ-Bench": {"MedQ_MCQ_test", "MedQ_Caption_test", "MedQ_Paired_test"},
    "MedQ-Deg": {"MedQDEG_test"},
}


def known_groups(cell: PublishedCell) -> set[str]:
    """The groups that a run has under the cell's `group_by`."""
    tasks = json.loads(shared_path("data/medebench_tasks.json").read_text(encoding="utf-8"))
    return {
        "overall": {"Overall"},
        "organ": set(ORGAN_COUNTS),
        "task": {it["task"] for it in tasks["listed_tasks"]} | set(TASK_OF_KEY),
        "question_type": set(MEDQ_TABLE_NAMED["MedQ_MCQ_test"].n_by_type),
        "level": {"L0", "L1", "L2"},
    }[cell.group_by]


def test_metrics_and_groups_are_ours_where_a_run_can_have_the_figure() -> None:
    comparable = [cell for cell in published_cells() if cell.is_comparable]
    assert len(comparable) > 1000
    for metric in {cell.metric for cell in comparable}:
        assert METRICS[metric].protocol == "official"
    for cell in {(it.group_by, it.group): it for it in comparable}.values():
        assert cell.group in known_groups(cell)


def test_what_has_no_counterpart_is_not_named_like_a_result_of_ours() -> None:
    for cell in published_cells():
        if not cell.is_comparable and cell.metric in METRICS:
            assert cell.group_by not in ("organ", "question_type"), cell
            assert cell.column == "Avg" or cell.group not in ("L0", "L1", "L2", "Overall"), cell


def test_values_lie_within_the_bounds_of_their_metric() -> None:
    for cell in published_cells():
        if cell.metric in METRICS:
            low, high = METRICS[cell.metric].bounds
            assert low <= cell.value <= high, cell


def test_judged_tables_name_their_judge() -> None:
    for table in tables():
        judged = {METRICS[it.metric].judged for it in table.columns if it.metric in METRICS}
        assert (table.judge is not None) == (True in judged), table.id


def test_data_sets_and_their_sizes() -> None:
    for benchmark, names in DATASETS.items():
        found = {cell.dataset for cell in published_cells(benchmark)}
        alone = {
            column.alone for table in tables() for column in table.columns if column.alone
        } & names
        assert found | alone == names
    for table in tables():
        if table.dataset in MEDQ_TABLE_NAMED and table.n is not None:
            assert table.n == MEDQ_TABLE_NAMED[table.dataset].n_published
        if table.dataset == "MedSG_test":
            assert table.n == N_PUBLISHED_MEDSG == 9630
            assert [it.n for it in table.columns[:-1]] == [it.n_published for it in MEDSG_TASKS]
            assert [it.alone for it in table.columns[:-1]] == [it.dataset for it in MEDSG_TASKS]
            assert [it.key for it in table.columns[:-1]] == [it.abbreviation for it in MEDSG_TASKS]
    for column in (it for table in tables() for it in table.columns):
        if column.group_by == "organ":
            assert column.n == ORGAN_COUNTS[column.group]
    assert sum(ORGAN_COUNTS.values()) == 1182
