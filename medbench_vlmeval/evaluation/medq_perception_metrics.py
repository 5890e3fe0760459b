"""The columns of MedQ-Bench's perception part and of MedQ-Deg."""

from __future__ import annotations

from ..types import MetricInfo

ACCURACY = MetricInfo(
    "accuracy",
    "accuracy ↑",
    source="share of all questions whose letter, read by the published rule, is the right one; a "
    "reply without a letter, or none at all, is wrong (VLMEvalKit, medqbench_mcq.py)",
)
ACCURACY_STRICT = MetricInfo(
    "accuracy_strict",
    "accuracy strict ↑",
    protocol="strict",
    source="as accuracy, the letter read by the strict reader",
)
ACCURACY_EXTRACTED = MetricInfo(
    "accuracy_extracted",
    "accuracy, letters also extracted by a judge ↑",
    protocol="extra",
    judged=True,
    source="as accuracy_strict; where that finds no letter, a judge that sees only reply and "
    "options may say which option the reply states",
)

METRICS = (ACCURACY, ACCURACY_STRICT, ACCURACY_EXTRACTED)
GROUP_METRICS = (ACCURACY, ACCURACY_STRICT)
