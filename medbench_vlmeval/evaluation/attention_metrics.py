"""The columns of attention grounding: what each is called, and where it comes from."""

from __future__ import annotations

from ..metrics import AttentionGrounding
from ..types import MetricInfo

_PAGE = "MedEBench, project page"

ATTENTION_IOU = MetricInfo(
    "attention_iou",
    "attention IoU ↑",
    protocol="extra",
    source=f"{_PAGE}: min–max, strictly above 1.3 × Otsu, IoU with the ROI; bins, sizes and the "
    "choice of the word are ours (docs/attention.md)",
)
ROI_SHARE = MetricInfo(
    "roi_share",
    "ROI share",
    protocol="extra",
    source="fraction of the picture in the ROI: the IoU of a map that fires everywhere",
)
ATTENDED_SHARE = MetricInfo(
    "attended_share",
    "attended share",
    protocol="extra",
    source="fraction of the picture above the threshold",
)
POINTING = MetricInfo(
    "pointing",
    "pointing ↑",
    protocol="extra",
    source="pointing game without tolerance (Zhang et al. 2018): the highest value is in the ROI",
)
ENERGY = MetricInfo(
    "energy",
    "energy in ROI ↑",
    protocol="extra",
    source="fraction of the normalised map's sum in the ROI (Wang et al. 2020)",
)
ATTENTION_METRICS = (ATTENTION_IOU, ROI_SHARE, ATTENDED_SHARE, POINTING, ENERGY)

SHOWN_BY_GROUP = (ATTENTION_IOU, ROI_SHARE, ENERGY)


def values_of(grounding: AttentionGrounding) -> dict[str, float | None]:
    """A measurement by the names of the columns."""
    return {
        "attention_iou": grounding.iou,
        "roi_share": grounding.roi_share,
        "attended_share": grounding.attended_share,
        "pointing": grounding.pointing,
        "energy": grounding.energy,
    }
