"""Loading that fails says what was expected, what was found, and what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from .tiny_pipelines import quiet_torch, save_image_to_image, save_instruct_pix2pix

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*local_dir_use_symlinks:UserWarning"),
]

PIX2PIX = "StableDiffusionInstructPix2PixPipeline"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_torch()
    folder = tmp_path_factory.mktemp("checkpoints")
    save_instruct_pix2pix(folder / "pix2pix")
    save_image_to_image(folder / "img2img")
    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def editor(**arguments: Any) -> Any:
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    return DiffusersEditor(**{"pipeline": PIX2PIX, **arguments})


def failure(**arguments: Any) -> str:
    """What the host is told."""
    made = editor(**arguments)
    with pytest.raises((OSError, ValueError, ImportError)) as caught:
        made.edit(Image.new("RGB", (16, 16)), "edit", seed=1)
    return str(caught.value)


def test_a_missing_checkpoint_names_itself_and_the_ways_to_it() -> None:
    text = failure(checkpoint="nobody/no-such-weights", revision="v1")
    assert "expected the checkpoint nobody/no-such-weights at revision v1, got none" in text
    assert "HF_HUB_OFFLINE is set" in text
    assert "hf download nobody/no-such-weights" in text
    assert "token" in text


def test_the_host_gets_the_failure_as_a_line_and_no_second_try(tmp_path: Path) -> None:
    from medbench_vlmeval.models import diffusers_editor

    made = editor(checkpoint="nobody/no-such-weights")
    path = tmp_path / "1.png"
    Image.new("RGB", (16, 16)).save(path)
    message = [{"type": "image", "value": str(path)}, {"type": "text", "value": "edit"}]
    first = made.generate(message)
    assert first.startswith("Failed to obtain answer via API. OSError: expected the checkpoint")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusers_editor, "load_pipeline", None)
        assert made.generate(message) == first


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    assert "model_index.json" in failure(checkpoint=str(tmp_path))


def test_missing_weights_of_a_checkpoint(checkpoints: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(checkpoints / "pix2pix", broken)
    for path in (broken / "unet").glob("*.safetensors"):
        path.unlink()
    assert f"expected the checkpoint {broken}" in failure(checkpoint=str(broken))


def test_a_checkpoint_of_another_class_names_both(checkpoints: Path) -> None:
    text = failure(checkpoint=str(checkpoints / "img2img"))
    assert f"expected a checkpoint of {PIX2PIX}" in text
    assert "StableDiffusionImg2ImgPipeline" in text


def test_another_class_may_be_meant(checkpoints: Path) -> None:
    made = editor(
        pipeline="StableDiffusionImg2ImgPipeline",
        checkpoint=str(checkpoints / "img2img"),
        call={"num_inference_steps": 2},
    )
    declared = checkpoints / "img2img" / "model_index.json"
    config = json.loads(declared.read_text())
    declared.write_text(json.dumps({**config, "_class_name": "StableDiffusionPipeline"}))
    try:
        with pytest.raises(ValueError, match='"checkpoint_class": "StableDiffusionPipeline"'):
            _ = made.loaded
        meant = editor(
            pipeline="StableDiffusionImg2ImgPipeline",
            checkpoint=str(checkpoints / "img2img"),
            checkpoint_class="StableDiffusionPipeline",
        )
        assert type(meant.loaded.pipe).__name__ == "StableDiffusionImg2ImgPipeline"
    finally:
        declared.write_text(json.dumps(config))


def test_a_class_that_diffusers_does_not_have(checkpoints: Path) -> None:
    import diffusers

    text = failure(pipeline="StableDiffusionInstructPix2Pix", checkpoint=str(checkpoints))
    assert f"diffusers {diffusers.__version__} does not have" in text
    assert f"did you mean {PIX2PIX}" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"call": {"num_inference_stepz": 2}}, "did you mean num_inference_steps"),
        ({"image_argument": "input_images"}, "'input_images'"),
        ({"scheduler": "EulerAncestralScheduler"}, "EulerAncestralDiscreteScheduler"),
        ({"loras": ["nobody/no-such-lora"]}, "expected the LoRA nobody/no-such-lora"),
    ],
    ids=["call", "image argument", "scheduler", "lora"],
)
def test_a_wrong_name_in_an_entry(checkpoints: Path, arguments: dict[str, Any], words: str) -> None:
    assert words in failure(checkpoint=str(checkpoints / "pix2pix"), **arguments)


def test_without_diffusers_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    assert 'pip install "medbench-vlmeval[diffusers]"' in failure(checkpoint="any/thing")


def test_no_gpu_is_a_warning_for_models_that_want_one(
    checkpoints: Path, caplog: pytest.LogCaptureFixture
) -> None:
    where = str(checkpoints / "pix2pix")
    made = editor(checkpoint=where, wants_gpu=True)
    _ = made.loaded, made.loaded
    assert [it.message for it in caplog.records if "meant for a GPU" in it.message] == [
        f"{where} runs on the CPU, where one edit may take minutes; it is meant for a GPU"
    ]
    caplog.clear()
    _ = editor(checkpoint=where).loaded
    assert "meant for a GPU" not in caplog.text


def test_every_entry_names_a_class_and_arguments_that_diffusers_has() -> None:
    import inspect

    import diffusers

    from medbench_vlmeval.models.diffusers_entries import ENTRIES
    from medbench_vlmeval.registry import EDITORS

    for name, arguments in ENTRIES.items():
        assert EDITORS[name].arguments == arguments
        made = EDITORS[name].editor(**arguments)
        cls = getattr(diffusers, made.plan.pipeline)
        taken = inspect.signature(cls.__call__).parameters
        asked = {made.plan.image_argument, made.plan.instruction_argument, *made.plan.call}
        if made.plan.pass_size:
            asked |= {"height", "width"}
        assert asked | {"generator", "output_type"} <= set(taken), name
        assert not made.plan.scheduler or hasattr(diffusers, made.plan.scheduler)


def test_the_published_settings_of_medebench() -> None:
    from medbench_vlmeval.models.diffusers_entries import ENTRIES

    from ..shared import shared_path

    text = shared_path("data/medebench_models.json").read_text(encoding="utf-8")
    published = {model["id"]: model for model in json.loads(text)["models"]}
    for name, identifier in (
        ("InstructPix2Pix", "instruct-pix2pix"),
        ("Paint-by-Inpaint", "paint-by-inpaint"),
    ):
        entry, model = ENTRIES[name], published[identifier]
        settings = model["settings"]
        assert entry["checkpoint"] == model["checkpoint"]
        assert entry["call"] == {
            "num_inference_steps": settings["steps"],
            "guidance_scale": settings["guidance_scale"],
            "image_guidance_scale": settings["image_guidance_scale"],
        }
        assert entry["scheduler"] == settings["scheduler"]
        assert entry["load"]["safety_checker"] is settings["safety_checker"]
        assert entry["gpu_dtype"] == "float16"


def test_weights_that_do_not_fit_are_said_to(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from diffusers import DiffusionPipeline

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    made = editor(checkpoint=str(checkpoints / "pix2pix"))
    monkeypatch.setattr(DiffusionPipeline, "to", full)
    with pytest.raises(MemoryError, match='"offload": "model"'):
        _ = made.loaded
    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", None)
    with pytest.raises(MemoryError, match="expected room for the weights"):
        _ = made.loaded
