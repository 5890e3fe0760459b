"""The columns of MedEBench: what each is called, where it comes from, and which way is better."""

from __future__ import annotations

from ..types import MetricInfo

_TABLE_2 = "MedEBench, Table 2"
_JUDGE_CODE = "src/eval_metrics/evaluate_gpt4o.py of the released code"
_SSIM_CODE = "src/eval_metrics/traditional_metrics_eval.py of the released code"

CP = MetricInfo(
    "CP",
    "CP ↑",
    source=f"contextual preservation, {_TABLE_2}: SSIM over the whole frame, ROI black in both "
    f"images ({_SSIM_CODE}); samples without an edited image are left out",
)
EA = MetricInfo(
    "EA",
    "EA ↑",
    judged=True,
    source=f"editing accuracy, {_TABLE_2}: the judge's 0–10 / 10, first reply, published parser "
    f"({_JUDGE_CODE}); unreadable replies and missing images are left out",
)
VQ = MetricInfo("VQ", "VQ ↑", judged=True, source=f"visual quality, {_TABLE_2}: as EA")
CP_STRICT = MetricInfo(
    "CP_strict",
    "CP strict ↑",
    protocol="strict",
    source="SSIM averaged over windows wholly outside the ROI, floored at 0; "
    "a missing image counts 0",
)
EA_STRICT = MetricInfo(
    "EA_strict",
    "EA strict ↑",
    protocol="strict",
    judged=True,
    source="the judge's verdict under the strict reader; a missing image counts 0",
)
VQ_STRICT = MetricInfo(
    "VQ_strict", "VQ strict ↑", protocol="strict", judged=True, source="as EA_strict"
)
CP_JUDGED = MetricInfo(
    "CP_judged",
    "CP judged ↑",
    protocol="extra",
    judged=True,
    source="contextual preservation as the judge sees it; "
    f"asked by {_JUDGE_CODE}, not in {_TABLE_2}",
)
PSNR_OUTSIDE = MetricInfo(
    "PSNR_outside",
    "PSNR outside ROI ↑",
    unit="dB",
    bounds=(0.0, 100.0),
    protocol="extra",
    source="peak signal-to-noise ratio against the input outside the ROI; identical = 100",
)
PSNR_INSIDE = MetricInfo(
    "PSNR_inside",
    "PSNR inside ROI",
    unit="dB",
    bounds=(0.0, 100.0),
    protocol="extra",
    source="against the input inside the ROI: how little was changed there; "
    "identical = 100 = no edit",
)

_SIGN = "share of edited images; not published, see metrics/gaming.py"

NO_EDIT = MetricInfo(
    "no_edit",
    "no edit ↓",
    higher_is_better=False,
    protocol="extra",
    source=f"nothing visible was changed inside the ROI, {_SIGN}",
)
EDIT_ELSEWHERE = MetricInfo(
    "edit_elsewhere",
    "edit elsewhere ↓",
    higher_is_better=False,
    protocol="extra",
    source=f"outside the ROI a pixel was changed visibly and at least as much as inside, {_SIGN}",
)
COPIED_REFERENCE = MetricInfo(
    "copied_reference",
    "copied reference ↓",
    higher_is_better=False,
    protocol="extra",
    source=f"the image is the reference, but for what is invisible, {_SIGN}",
)
PRAISED_NO_EDIT = MetricInfo(
    "praised_no_edit",
    "praised no edit ↓",
    higher_is_better=False,
    protocol="extra",
    judged=True,
    source=f"nothing visible was changed and yet VQ_strict is at least 0.7, {_SIGN}",
)
SIGNS = (NO_EDIT, EDIT_ELSEWHERE, COPIED_REFERENCE, PRAISED_NO_EDIT)
"""What shows that a score was not earned by editing."""

_SPREAD = (0.0, 0.5**0.5)
"""Bounds of the standard deviation of values in [0, 1]: two values, one at each end, are widest."""

CP_SEED_SD = MetricInfo(
    "CP_seed_sd",
    "CP seed sd ↓",
    higher_is_better=False,
    bounds=_SPREAD,
    protocol="extra",
    source="standard deviation (n - 1) of CP over the images made for a sample from several seeds; "
    "samples with fewer than two images are left out",
)
CP_STRICT_SEED_SD = MetricInfo(
    "CP_strict_seed_sd",
    "CP strict seed sd ↓",
    higher_is_better=False,
    bounds=_SPREAD,
    protocol="extra",
    source="as CP_seed_sd, of CP_strict",
)

SEED_METRICS = (CP_SEED_SD, CP_STRICT_SEED_SD)
"""Columns of a run that made several images for a sample; other runs have none of them."""
METRICS = (
    CP, EA, VQ, CP_STRICT, EA_STRICT, VQ_STRICT, CP_JUDGED, PSNR_OUTSIDE, PSNR_INSIDE,
    *SIGNS,
)  # fmt: skip
HEADLINE = (EA, CP, VQ)
"""In the order of the paper's tables; the project page's gallery prints EA/VQ/CP instead."""
