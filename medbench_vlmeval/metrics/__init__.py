"""Arrays in, numbers out: what is measured on images without a judge."""

from __future__ import annotations

from .agreement import agreement_rate, quadratic_weighted_kappa
from .boxes import box_iou, box_iou_batch
from .edit import EditMetrics, PreparedSample, edit_metrics
from .masks import box_mask, mask_iou
from .psnr import psnr
from .registration import Shift, border_rows, estimated_shift, is_shifted
from .ssim import SSIMPair, context_ssim, masked_and_context_ssim, masked_ssim, ssim_kernel

__all__ = [
    "EditMetrics",
    "PreparedSample",
    "SSIMPair",
    "Shift",
    "agreement_rate",
    "border_rows",
    "box_iou",
    "box_iou_batch",
    "box_mask",
    "context_ssim",
    "edit_metrics",
    "estimated_shift",
    "is_shifted",
    "mask_iou",
    "masked_and_context_ssim",
    "masked_ssim",
    "psnr",
    "quadratic_weighted_kappa",
    "ssim_kernel",
]
