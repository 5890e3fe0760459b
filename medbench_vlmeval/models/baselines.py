"""Trivial editors: the floor and the ceiling that every leaderboard needs beside its models.

Doing nothing keeps the context perfectly and can look excellent; pasting the reference is the best
any editor can do. A score means something only between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..registry import register_editor
from .base import EditRequest, ImageEditor, no_image

if TYPE_CHECKING:
    from ..data import MedEBenchSample


class BaselineEditor(ImageEditor):
    """An editor that may look at the sample's reference and ROI, as no honest model can."""

    deterministic = False

    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        raise TypeError("expected a request with a path; baselines look the sample up by its image")

    def sample(self, request: EditRequest) -> MedEBenchSample:
        """The benchmark's sample behind a request.

        Raises:
            NoImageReturned: the image does not come from prepared data.
        """
        from ..data import sample_of

        sample = sample_of(request.image_path)
        if sample is None:
            raise no_image(
                f"{request.image_path.name} is not an image of prepared data, so there is no "
                "reference or ROI to use"
            )
        return sample

    def roi(self, request: EditRequest) -> NDArray[np.bool_]:
        """Pixels of the ROI, shape (H, W) as the image."""
        from ..images import read_roi

        path = self.sample(request).roi
        if path is None:
            raise no_image("the sample has no ROI mask")
        return read_roi(path, size_wh=request.image.size).values > 0


@register_editor("Baseline-CopyInput")
class CopyInput(BaselineEditor):
    """Returns the input unchanged: perfect context, no edit."""

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        return request.image_bytes


@register_editor("Baseline-Reference")
class PasteReference(BaselineEditor):
    """Returns the reference: the ceiling of every judged score."""

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        path = self.sample(request).reference
        if path is None:
            raise no_image("the sample has no reference image")
        return path.read_bytes()


@register_editor("Baseline-Blank")
class Blank(BaselineEditor):
    """Returns a mid-grey image: nothing kept, nothing done."""

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        return Image.new("RGB", request.image.size, (128, 128, 128))


@register_editor("Baseline-BlurROI")
class BlurROI(BaselineEditor):
    """Blurs the ROI and nothing else: perfect context, a visible but meaningless edit.

    The Gaussian's sigma is 4 % of the shorter side.
    """

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        pixels = np.asarray(request.image)
        sigma = max(1.0, 0.04 * min(request.image.size))
        blurred = cv2.GaussianBlur(pixels, (0, 0), sigma)
        return Image.fromarray(np.where(self.roi(request)[..., None], blurred, pixels))


@register_editor("Baseline-NoiseOutsideROI", sigma=25.0)
class NoiseOutsideROI(BaselineEditor):
    """Adds Gaussian noise outside the ROI only: no edit, damaged context.

    Args:
        sigma: standard deviation in grey levels.
    """

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        pixels = np.asarray(request.image)
        sigma = float(self.settings["sigma"])
        noise = np.random.default_rng(request.seed).normal(0.0, sigma, pixels.shape)
        noisy = np.clip(np.rint(pixels + noise), 0, 255).astype(np.uint8)
        return Image.fromarray(np.where(self.roi(request)[..., None], pixels, noisy))
