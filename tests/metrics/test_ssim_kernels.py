from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.metrics import masked_and_context_ssim, ssim, ssim_kernel
from medbench_vlmeval.metrics._ssim_constants import BLACKENED_LEVELS

from .pictures import ellipse, noisy, photograph

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _forget_choice() -> Iterator[None]:
    ssim._kernel.cache_clear()
    yield
    ssim._kernel.cache_clear()


def test_numba_is_chosen_where_it_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ssim.KERNEL_VARIABLE, raising=False)

    assert ssim_kernel() == "numba"


def test_the_environment_chooses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ssim.KERNEL_VARIABLE, " Strips ")

    assert ssim_kernel() == "strips"


def test_an_unknown_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ssim.KERNEL_VARIABLE, "cuda")

    with pytest.raises(ValueError, match=r"=auto, numba or strips, got 'cuda'"):
        ssim_kernel()


def test_without_numba_the_strips_take_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(ssim.KERNEL_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "medbench_vlmeval.metrics._ssim_numba", None)
    image = photograph("coins", 40)
    roi = np.zeros(image.shape[:2], np.uint8)
    caplog.set_level(logging.INFO)

    assert ssim_kernel() == "strips"
    assert masked_and_context_ssim(image, image, roi).official == 1.0
    assert caplog.messages[0].startswith("SSIM runs without numba")


def test_asking_for_absent_numba_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ssim.KERNEL_VARIABLE, "numba")
    monkeypatch.setitem(sys.modules, "medbench_vlmeval.metrics._ssim_numba", None)

    with pytest.raises(ImportError, match=r'pip install "medbench-vlmeval\[fast\]"'):
        ssim_kernel()


@pytest.mark.parametrize(("height", "width"), [(7, 7), (7, 900), (900, 7), (300, 451), (211, 1200)])
def test_the_kernels_agree_at_every_shape(
    height: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = np.random.default_rng(3).integers(0, 256, (height, width, 3)).astype(np.uint8)
    edited = noisy(previous, 20)
    roi = ellipse(height, width, share=0.1, soft=True)
    values = {}
    for kernel in ("numba", "strips"):
        monkeypatch.setenv(ssim.KERNEL_VARIABLE, kernel)
        values[kernel] = masked_and_context_ssim(previous, edited, roi)

    assert values["numba"].official == pytest.approx(values["strips"].official, abs=1e-13)
    assert values["numba"].n_context_windows == values["strips"].n_context_windows
    if values["strips"].context is not None:
        assert values["numba"].context == pytest.approx(values["strips"].context, abs=1e-13)


def test_extreme_sums_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    # White against black, and white against itself: the largest numbers the integers must hold.
    white, black = np.full((9, 9, 3), 255, np.uint8), np.zeros((9, 9, 3), np.uint8)
    roi = np.zeros((9, 9), np.uint8)
    c1 = (0.01 * 255) ** 2
    for kernel in ("numba", "strips"):
        monkeypatch.setenv(ssim.KERNEL_VARIABLE, kernel)

        assert masked_and_context_ssim(white, white, roi).official == 1.0
        assert masked_and_context_ssim(white, black, roi).official == pytest.approx(
            c1 / (255**2 + c1), rel=1e-13
        )


def test_read_only_images_need_no_second_compilation() -> None:
    from medbench_vlmeval.metrics import _ssim_numba

    image = photograph("coins", 40)
    roi = np.zeros(image.shape[:2], np.uint8)
    masked_and_context_ssim(image, image, roi)
    n_compiled = len(_ssim_numba.similarity_sums.signatures)
    frozen = image.copy()
    frozen.flags.writeable = False

    masked_and_context_ssim(image, frozen, roi)
    masked_and_context_ssim(frozen, image, roi)

    assert len(_ssim_numba.similarity_sums.signatures) == n_compiled


def test_the_blackening_table_is_what_tensors_give() -> None:
    torch = pytest.importorskip("torch")
    levels = torch.arange(256, dtype=torch.uint8).to(torch.float32).div(255)
    tensors = (levels[None, :] * (1 - levels[:, None])).mul(255).byte()

    assert np.array_equal(BLACKENED_LEVELS, tensors.numpy())


def test_importing_the_metrics_imports_no_compiler() -> None:
    script = "import sys, medbench_vlmeval.metrics; print('numba' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"


def test_without_a_writable_cache_the_kernel_still_compiles() -> None:
    # What numba does where neither site-packages nor the home folder can be written.
    script = textwrap.dedent(
        """
        import logging, numba
        from numba.core import caching
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        caching.CacheImpl._locator_classes = []
        from medbench_vlmeval.metrics import _ssim_numba
        print("caching", _ssim_numba._CACHE)
        """
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert done.stdout.strip() == "caching False"
    assert done.stderr.count("set NUMBA_CACHE_DIR") == 1


def test_the_kernels_cache_is_not_kept_inside_the_package() -> None:
    from medbench_vlmeval.metrics import _ssim_numba

    package = Path(_ssim_numba.__file__).parents[1]
    kept = Path(_ssim_numba.similarity_sums._cache.cache_path)
    assert not kept.is_relative_to(package)
    if not os.environ.get("NUMBA_CACHE_DIR"):
        assert "medbench_vlmeval" in kept.parts
