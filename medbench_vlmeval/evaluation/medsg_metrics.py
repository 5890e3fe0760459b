"""The columns of MedSG-Bench: what each is called, where it comes from, and which way is better."""

from __future__ import annotations

from ..types import MetricInfo

_CODE = "eval/MedSG_Bench.py of the released code"

IOU = MetricInfo(
    "IoU",
    "IoU ↑",
    source=f"mean intersection over union, Table 3: first box of the published parser ({_CODE}); "
    "a reply without a box counts 0",
)
ACC_50 = MetricInfo(
    "ACC@0.5", "ACC@0.5 ↑", source=f"share of samples with IoU of at least 0.5, Table 3 ({_CODE})"
)
ACC_30 = MetricInfo(
    "ACC@0.3",
    "ACC@0.3 ↑",
    protocol="extra",
    source=f"as ACC@0.5; counted by {_CODE}, not in Table 3",
)
ACC_70 = MetricInfo(
    "ACC@0.7",
    "ACC@0.7 ↑",
    protocol="extra",
    source=f"as ACC@0.5; counted by {_CODE}, not in Table 3",
)
IOU_STRICT = MetricInfo(
    "IoU_strict",
    "IoU strict ↑",
    protocol="strict",
    source="first whole box of the strict reader by the declared convention; no box counts 0",
)
ACC_50_STRICT = MetricInfo(
    "ACC@0.5_strict", "ACC@0.5 strict ↑", protocol="strict", source="as IoU_strict"
)
MASK_IOU = MetricInfo(
    "mask_IoU",
    "mask IoU ↑",
    protocol="strict",
    source="beyond the benchmark, which measures boxes only: IoU of masks where a row or a reply "
    "carries one, a box standing for its pixels; a reply with neither counts 0",
)

THRESHOLDS = {ACC_30.name: 0.3, ACC_50.name: 0.5, ACC_70.name: 0.7}
"""Inclusive, as published."""

METRICS = (IOU, ACC_50, ACC_30, ACC_70, IOU_STRICT, ACC_50_STRICT)
"""The columns of every run; `MASK_IOU` joins them in a run that knows masks."""
GROUP_METRICS = (IOU, ACC_50, IOU_STRICT, ACC_50_STRICT)
"""Those that fit beside each other in a table of tasks."""
