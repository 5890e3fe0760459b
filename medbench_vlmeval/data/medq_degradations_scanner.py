"""Degradations that come about inside a scanner: errors in the rays of a CT, the lines of an MR.

What goes wrong in a CT is put into its projections (parallel rays, 180 views) and seen through
filtered back projection; as that is linear, only the error is reconstructed and added to the
picture. What goes wrong in an MR is put into the lines of k-space, with rows as the
phase-encoding direction.

Every function takes and gives ``(H, W, 3)`` uint8 pixels of any size from 1 x 1, grey ones as a
rule: CT errors are worked out on the mean of the channels and added to each.
"""

from __future__ import annotations

import numpy as np

from .medq_degradations_general import Pixels, Values, unit_grid, whole_grey_levels

_N_VIEWS = 180
_DEEPEST = 4.0
"""Attenuation along the densest ray: one photon in 55 arrives, as through the pelvis."""


def low_dose_noise(pixels: Pixels, *, sigma: float, seed: int = 0) -> Pixels:
    """Too few photons: grainy noise, drawn out along the rays that pass most tissue.

    Args:
        pixels: The picture, taken as attenuation.
        sigma: Standard deviation of the noise in grey levels, over the whole picture.
        seed: Of the noise.
    """
    rays = _projected(pixels.mean(axis=-1))
    depth = _DEEPEST * rays / max(rays.max(), 1.0)
    error = np.random.default_rng(seed).standard_normal(rays.shape) * np.exp(depth / 2)
    return _with_error(pixels, _reconstructed(error, pixels.shape[:2]), sigma)


def sparse_view_streaks(pixels: Pixels, *, views: int) -> Pixels:
    """Too few views: thin straight streaks that start at every sharp edge.

    Args:
        pixels: The picture.
        views: Number of views kept, a divisor of 180.
    """
    shape_hw = pixels.shape[:2]
    rays = _projected(pixels.mean(axis=-1))
    few = np.zeros_like(rays)
    every = _N_VIEWS // views
    few[::every] = every * rays[::every]
    return whole_grey_levels(pixels + _reconstructed(few - rays, shape_hw)[..., None])


def metal_streaks(pixels: Pixels, *, sigma: float, seed: int = 0) -> Pixels:
    """Two metal pins, white, with a dark band between them and bright and dark rays around.

    Rays through metal are measured too weak, with the square of its thickness (beam hardening),
    and they are noisy (photon starvation).

    Args:
        pixels: The picture.
        sigma: Standard deviation of the streaks in grey levels, over the whole picture.
        seed: Of the noise.
    """
    metal = _pins(pixels.shape[:2])
    rays = _projected(metal.astype(np.float64))
    noise = np.random.default_rng(seed).standard_normal(rays.shape)
    error = rays * (0.2 * rays.max() * noise - rays)
    streaked = _with_error(pixels, _reconstructed(error, pixels.shape[:2]), sigma, outside=metal)
    streaked[metal] = 255
    return streaked


def ring_artefacts(pixels: Pixels, *, amplitude: float, rings: int, seed: int = 0) -> Pixels:
    """Detector channels with a wrong gain: rings around the centre of rotation.

    Args:
        pixels: The picture.
        amplitude: Of the brightest and darkest ring, in grey levels.
        rings: Their number.
        seed: Chooses the channels, and which are too bright.
    """
    height, width = pixels.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    radius = np.sqrt((rows - (height - 1) / 2) ** 2 + (columns - (width - 1) / 2) ** 2)
    rng = np.random.default_rng(seed)
    error = np.zeros((height, width))
    for share, gain in zip(rng.uniform(0.08, 0.95, rings), rng.uniform(-1, 1, rings), strict=True):
        strength = np.copysign(0.4 + 0.6 * abs(gain), gain)
        error += strength * np.clip(1.5 - np.abs(radius - share * min(height, width) / 2), 0, 1)
    return whole_grey_levels(pixels + amplitude * np.clip(error, -1, 1)[..., None])


def aliasing(pixels: Pixels, *, lost: float) -> Pixels:
    """Every second phase-encoding line too weak: the picture folds over itself by half its height.

    Args:
        pixels: The picture.
        lost: Share that is lost of those lines, 0 to 1; at 1 both copies are equally bright.
    """
    folded = np.roll(pixels, pixels.shape[0] // 2, axis=0)
    return whole_grey_levels((1 - lost / 2) * pixels + lost / 2 * folded)


def motion_ghosting(pixels: Pixels, *, shift: float, period: int) -> Pixels:
    """A body that breathes while the lines are read: faint copies along the rows' direction.

    Args:
        pixels: The picture.
        shift: How far the body moves to either side, in pixels.
        period: Lines read in one breath; copies lie ``H / period`` rows apart.
    """
    lines = np.fft.fft(pixels.astype(np.float64), axis=0)
    moved = shift * np.sin(2 * np.pi * np.arange(len(lines)) / period)
    phase = np.exp(-2j * np.pi * np.fft.fftfreq(len(lines)) * moved)
    return whole_grey_levels(np.abs(np.fft.ifft(lines * phase[:, None, None], axis=0)))


def bias_field(pixels: Pixels, *, falloff: float, seed: int = 0) -> Pixels:
    """A receiving coil that lies at one corner: what is far from it is dark.

    Args:
        pixels: The picture; a single pixel stays as it is.
        falloff: The far corner is seen with a sensitivity of ``1 / (1 + falloff)``.
        seed: Chooses the corner.
    """
    rows, columns = unit_grid(pixels.shape[:2])
    from_below, from_right = np.random.default_rng(seed).integers(0, 2, size=2)
    rows = 1 - rows if from_below and pixels.shape[0] > 1 else rows
    columns = 1 - columns if from_right and pixels.shape[1] > 1 else columns
    gain = 1 / (1 + falloff * (rows**2 + columns**2) / 2)
    return whole_grey_levels(pixels * gain[..., None])


def _pins(shape_hw: tuple[int, ...]) -> np.ndarray:
    rows, columns = unit_grid(shape_hw)
    left = (rows - 0.46) ** 2 + (columns - 0.36) ** 2
    right = (rows - 0.52) ** 2 + (columns - 0.64) ** 2
    pins: np.ndarray = np.minimum(left, right) < 0.024**2
    return pins


def _with_error(
    pixels: Pixels, error: Values, sigma: float, *, outside: np.ndarray | None = None
) -> Pixels:
    """The picture with an error of standard deviation `sigma` added (none where it is even)."""
    spread = error.std() if outside is None else error[~outside].std()
    scale = sigma / spread if spread > 0 else 0.0
    return whole_grey_levels(pixels + scale * error[..., None])


def _ray_positions(shape_hw: tuple[int, ...]) -> tuple[list[Values], int]:
    """Where every pixel meets the detector, view by view, and the number of its channels."""
    height, width = shape_hw
    n_channels = int(np.ceil(np.hypot(height, width))) + 3
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    rows, columns = rows - (height - 1) / 2, columns - (width - 1) / 2
    angles = np.arange(_N_VIEWS) * np.pi / _N_VIEWS
    middle = (n_channels - 1) / 2
    return [np.cos(a) * columns + np.sin(a) * rows + middle for a in angles], n_channels


def _projected(values: Values) -> Values:
    """Sums along parallel rays, ``(views, channels)``; a pixel is shared by two channels."""
    positions, n_channels = _ray_positions(values.shape)
    rays = np.zeros((_N_VIEWS, n_channels))
    flat = values.ravel()
    for view, position in enumerate(positions):
        channel = np.floor(position).astype(int).ravel()
        share = position.ravel() - channel
        rays[view] = np.bincount(channel, flat * (1 - share), n_channels)
        rays[view] += np.bincount(channel + 1, flat * share, n_channels)
    return rays


def _reconstructed(rays: Values, shape_hw: tuple[int, ...]) -> Values:
    """Filtered back projection with the ramp filter."""
    positions, n_channels = _ray_positions(shape_hw)
    length = 2 * n_channels
    ramp = np.abs(np.fft.rfftfreq(length))
    filtered = np.fft.irfft(np.fft.rfft(rays, length, axis=1) * ramp, length, axis=1)
    channels = np.arange(n_channels)
    total = np.zeros(shape_hw)
    for view, position in enumerate(positions):
        total += np.interp(position, channels, filtered[view, :n_channels])
    return total * np.pi / _N_VIEWS
