"""Arrays in, numbers out: what is measured on images without a judge."""

from __future__ import annotations

from .agreement import agreement_rate, cohen_kappa, quadratic_weighted_kappa
from .attention import AttentionGrounding, attention_grounding, attention_iou
from .boxes import box_iou, box_iou_batch
from .edit import EditMetrics, PreparedSample, edit_metrics
from .frechet import (
    FrechetMeasurement,
    NoiseFloor,
    frechet_distance,
    measured_frechet,
    noise_floor,
)
from .gaming import EditSigns, edit_signs
from .kid import (
    KernelSpread,
    kernel_distance,
    kernel_distance_spread,
    paired_kernel_distance,
)
from .masks import box_mask, mask_iou
from .psnr import psnr
from .registration import Shift, border_rows, estimated_shift, is_shifted
from .reliability import (
    IntraclassCorrelation,
    intraclass_correlation,
    krippendorff_alpha,
    undefined_because,
)
from .ssim import SSIMPair, context_ssim, masked_and_context_ssim, masked_ssim, ssim_kernel

__all__ = [
    "AttentionGrounding",
    "EditMetrics",
    "EditSigns",
    "FrechetMeasurement",
    "IntraclassCorrelation",
    "KernelSpread",
    "NoiseFloor",
    "PreparedSample",
    "SSIMPair",
    "Shift",
    "agreement_rate",
    "attention_grounding",
    "attention_iou",
    "border_rows",
    "box_iou",
    "box_iou_batch",
    "box_mask",
    "cohen_kappa",
    "context_ssim",
    "edit_metrics",
    "edit_signs",
    "estimated_shift",
    "frechet_distance",
    "intraclass_correlation",
    "is_shifted",
    "kernel_distance",
    "kernel_distance_spread",
    "krippendorff_alpha",
    "mask_iou",
    "masked_and_context_ssim",
    "masked_ssim",
    "measured_frechet",
    "noise_floor",
    "paired_kernel_distance",
    "psnr",
    "quadratic_weighted_kappa",
    "ssim_kernel",
    "undefined_because",
]
