"""Which way a column is better, as far as its label says."""

from __future__ import annotations

from typing import Literal

from ..types import MetricInfo


def better(metric: MetricInfo) -> Literal["higher", "lower", "neither"]:
    """The better direction of a column; neither for one without an arrow in its label.

    Such a column says how much was done, not how well: inside the ROI, the highest PSNR is that of
    an image that was not edited.
    """
    if not {"↑", "↓"} & set(metric.label):
        return "neither"
    return "higher" if metric.higher_is_better else "lower"
