"""Pictures for the tests of metrics: photographs that come with scikit-image, masks, and damage."""

from __future__ import annotations

import cv2
import numpy as np
from skimage import data


def photograph(name: str, long_side: int = 512) -> np.ndarray:
    image = getattr(data, name)()
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    height, width = image.shape[:2]
    factor = long_side / max(height, width)
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return cv2.resize(image, (round(width * factor), round(height * factor)), interpolation=method)


def ellipse(height: int, width: int, *, share: float, soft: bool = False) -> np.ndarray:
    roi = np.zeros((height, width), np.uint8)
    radius = np.sqrt(share / np.pi)
    axes = (round(width * radius), round(height * radius))
    cv2.ellipse(roi, (round(0.45 * width), round(0.55 * height)), axes, 0, 0, 360, 255, -1)
    return cv2.GaussianBlur(roi, (0, 0), 3) if soft else roi


def noisy(image: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, sigma, image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def blurred(image: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(image, (0, 0), sigma)


def jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    _, encoded = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR)[..., ::-1])


def moved(image: np.ndarray, dx: float, dy: float, border: int = cv2.BORDER_CONSTANT) -> np.ndarray:
    height, width = image.shape[:2]
    matrix = np.array([[1, 0, dx], [0, 1, dy]], np.float32)
    return cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=border)


def pasted(image: np.ndarray, roi: np.ndarray, content: np.ndarray) -> np.ndarray:
    """`image` with its ROI replaced: a synthetic edit."""
    height, width = roi.shape
    return np.where(roi[..., None] > 0, cv2.resize(content, (width, height)), image)
