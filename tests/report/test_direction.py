from __future__ import annotations

import pytest

from medbench_vlmeval.report.direction import better
from medbench_vlmeval.types import MetricInfo


@pytest.mark.parametrize(
    ("metric", "way"),
    [
        (MetricInfo("IoU", "IoU ↑"), "higher"),
        (MetricInfo("FID", "FID ↓", higher_is_better=False), "lower"),
        (MetricInfo("PSNR_inside", "PSNR inside ROI"), "neither"),
    ],
    ids=lambda it: it.name if isinstance(it, MetricInfo) else it,
)
def test_the_label_says_whether_a_direction_is_better(metric: MetricInfo, way: str) -> None:
    assert better(metric) == way
