"""ICEdit's diptych and Imagic's training, on real pipelines with tiny random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from .tiny_pipelines import (
    quiet_torch,
    save_flux_fill,
    save_flux_lora,
    save_image_to_image,
    save_imagic,
)

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

FEW = {"num_inference_steps": 2}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_torch()
    folder = tmp_path_factory.mktemp("checkpoints")
    save_flux_fill(folder / "fill")
    save_flux_lora(folder / "lora")
    save_image_to_image(folder / "stable")
    save_imagic(folder / "imagic")
    return folder


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))


def picture(size_wh: tuple[int, int] = (40, 27), seed: int = 0) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size_wh[::-1], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def difference(one: Image.Image, other: Image.Image) -> int:
    return int(np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int)).max())


def icedit(checkpoints: Path, **arguments: Any) -> Any:
    from medbench_vlmeval.models.icedit import ICEdit

    given = {"loras": [], "width": 64, "call": FEW, **arguments}
    return ICEdit(checkpoint=str(checkpoints / "fill"), **given)


def imagic(checkpoints: Path, **arguments: Any) -> Any:
    from medbench_vlmeval.models.imagic import Imagic

    given = {"side": 64, "train": {"steps": 1}, "call": FEW, **arguments}
    where = {"checkpoint": str(checkpoints / "stable"), "gpu_dtype": "float32"}
    return Imagic(custom_pipeline=str(checkpoints / "imagic" / "pipeline.py"), **where, **given)


class Seen:
    """What the pipeline of an editor was called with."""

    def __init__(self, editor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[dict[str, Any]] = []
        cls = type(editor.loaded.pipe)
        call = cls.__call__

        def noted(pipe: Any, **arguments: Any) -> Any:
            self.calls.append(arguments)
            return call(pipe, **arguments)

        monkeypatch.setattr(cls, "__call__", noted)


def test_icedit_paints_the_right_half_of_a_diptych(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = icedit(checkpoints)
    seen = Seen(editor, monkeypatch)
    edited = editor.edit(picture(), "it has no polyp {x}", seed=1)
    (call,) = seen.calls
    assert edited.size == (40, 27)
    assert call["image"].size == call["mask_image"].size == (128, 48)
    assert (call["width"], call["height"]) == (128, 48)
    left = call["image"].crop((0, 0, 64, 48))
    assert difference(left, picture().resize((64, 48), Image.Resampling.LANCZOS)) == 0
    mask = np.asarray(call["mask_image"])
    assert not mask[:, :64].any()
    assert (mask[:, 64:] == 255).all()
    assert call["prompt"].endswith("the same as on the left but it has no polyp {x}")
    assert call["guidance_scale"] == 50.0
    assert (np.asarray(edited).max(axis=(1, 2)) > 0).all(), "a row is black"


def test_icedit_gives_what_the_right_half_holds(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = icedit(checkpoints)
    image = picture((64, 48))
    wide = np.zeros((1, 48, 128, 3), dtype=np.float32)
    wide[:, :, 64:] = np.asarray(picture((64, 48), seed=5)) / np.float32(255)
    cls = type(editor.loaded.pipe)
    monkeypatch.setattr(
        cls, "__call__", lambda pipe, **arguments: type("Out", (), {"images": wide})
    )
    assert difference(editor.edit(image, "x", seed=1), picture((64, 48), seed=5)) == 0


@pytest.mark.parametrize(
    ("size_wh", "rows"), [((64, 45), 13), ((64, 48), 0), ((64, 31), 15)], ids=str
)
def test_the_published_crop_leaves_the_height_modulo_16_black(
    checkpoints: Path, size_wh: tuple[int, int], rows: int
) -> None:
    edited = icedit(checkpoints, published_crop=True).edit(picture(size_wh), "x", seed=1)
    assert edited.size == size_wh
    black = np.asarray(edited).max(axis=(1, 2)) == 0
    assert black.sum() == rows
    assert black[size_wh[1] - rows :].all()


def test_icedit_batches_and_its_lora_matters(checkpoints: Path) -> None:
    from medbench_vlmeval.models.base import EditRequest

    plain = icedit(checkpoints, batch_size=2)
    requests = [
        EditRequest(picture(seed=it), f"edit {it}", it, Path(f"{it}.png"), b"") for it in (1, 2)
    ]
    together = plain.edit_requests(requests)
    alone = [plain.edit(it.image, it.instruction, seed=it.seed) for it in requests]
    assert all(difference(a, b) <= 1 for a, b in zip(alone, together, strict=True))
    adapted = icedit(checkpoints, loras=[str(checkpoints / "lora")])
    with_lora = adapted.edit(requests[0].image, "edit 1", seed=1)
    assert difference(with_lora, alone[0]) > 2
    scaled = {"checkpoint": str(checkpoints / "lora"), "scale": 0.0}
    without = icedit(checkpoints, loras=[scaled]).edit(requests[0].image, "edit 1", seed=1)
    assert difference(without, alone[0]) <= 1


def test_icedit_says_what_is_unknown() -> None:
    from medbench_vlmeval.models.icedit import ICEdit

    settings = ICEdit().settings
    assert "steps, guidance, seed" in settings["unknown"]
    assert (settings["width"], settings["published_crop"]) == (512, False)
    assert settings["call"] == {"num_inference_steps": 28, "guidance_scale": 50.0}
    with pytest.raises(ValueError, match="multiple of 16, got 500"):
        ICEdit(width=500)


def test_imagic_trains_although_gradients_are_off(checkpoints: Path) -> None:
    import torch

    editor = imagic(checkpoints)
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        edited = editor.edit(picture(), "no polyp", seed=3)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(before)
    assert edited.size == (40, 27)
    assert np.asarray(edited).std() > 1
    with torch.inference_mode():
        assert difference(editor.edit(picture(), "no polyp", seed=3), edited) == 0


def test_imagic_starts_anew_for_each_sample_and_training_matters(checkpoints: Path) -> None:
    from medbench_vlmeval.models.base import EditRequest

    requests = [
        EditRequest(picture(seed=it), f"edit {it}", it, Path(f"{it}.png"), b"") for it in (1, 2)
    ]
    editor = imagic(checkpoints, batch_size=2)
    together = editor.edit_requests(requests)
    last = imagic(checkpoints).edit(requests[1].image, "edit 2", seed=2)
    assert difference(together[1], last) == 0
    longer = imagic(checkpoints, train={"steps": 4}).edit(requests[1].image, "edit 2", seed=2)
    assert difference(longer, last) > 0


@pytest.mark.parametrize("size_wh", [(40, 27), (64, 64), (100, 30)], ids=str)
@pytest.mark.parametrize("resize_back", [False, True])
def test_imagic_gives_the_size_of_the_picture(
    checkpoints: Path, size_wh: tuple[int, int], resize_back: bool
) -> None:
    editor = imagic(checkpoints, resize_back=resize_back)
    fitted = editor.fitted(picture(size_wh))
    assert fitted.image.size == (64, 64)
    if not resize_back and max(size_wh) <= 64:
        assert difference(fitted.image.crop((0, 0, *size_wh)), picture(size_wh)) == 0
    assert editor.edit(picture(size_wh), "x", seed=1).size == size_wh


def test_imagic_has_the_published_settings() -> None:
    from medbench_vlmeval.models.imagic import Imagic

    from ..shared import shared_path

    text = shared_path("data/medebench_models.json").read_text(encoding="utf-8")
    published = {model["id"]: model for model in json.loads(text)["models"]}
    model = published["imagic-sd-v1-4"]["settings"]
    settings = Imagic().settings
    assert settings["call"] == {
        "alpha": model["alpha"],
        "guidance_scale": model["guidance_scale"],
        "num_inference_steps": model["steps"],
    }
    assert settings["checkpoint"] in published["imagic-sd-v1-4"]["checkpoint"]
    assert settings["custom_pipeline"] == "imagic_stable_diffusion"
    assert (settings["side"], settings["train"], settings["resize_back"]) == (512, {}, False)
    assert settings["scheduler_config"]["set_alpha_to_one"] is False
    with pytest.raises(ValueError, match="multiple of 32"):
        Imagic(side=500)
