"""Editors on pipelines of diffusers: real pipelines with tiny random weights, on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.editing import read_edit_reply
from medbench_vlmeval.types import Status

from ..data.packs import MEDEBENCH, lend_packs
from .tiny_pipelines import (
    quiet_torch,
    save_flux_kontext,
    save_image_to_image,
    save_instruct_pix2pix,
    save_omnigen,
)

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

INSTRUCTION = "Remove the polyp."


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_torch()
    return save_instruct_pix2pix(tmp_path_factory.mktemp("pix2pix"))


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def instruct(checkpoint: Path, **arguments: Any) -> Any:
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    call = {"num_inference_steps": 2, **arguments.pop("call", {})}
    return DiffusersEditor(
        entry="InstructPix2Pix", checkpoint=str(checkpoint), call=call, **arguments
    )


def picture(size_wh: tuple[int, int] = (32, 24), seed: int = 0) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size_wh[::-1], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def saved(tmp_path: Path, image: Image.Image, name: str = "1.png") -> Path:
    path = tmp_path / name
    image.save(path)
    return path


def message(path: Path, instruction: str = INSTRUCTION) -> list[dict[str, str]]:
    return [{"type": "image", "value": str(path)}, {"type": "text", "value": instruction}]


def stored(editor: Any, line: str) -> Any:
    reply = read_edit_reply(line)
    assert reply.stored is not None, line
    with Image.open(editor.store.path(reply.stored)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def difference(one: Image.Image, other: Image.Image) -> int:
    return int(np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int)).max())


def test_an_edit_is_made_whatever_gradients_and_seeds_the_host_has_set(checkpoint: Path) -> None:
    import torch

    editor = instruct(checkpoint)
    with torch.inference_mode():
        torch.manual_seed(1)
        one = editor.edit(picture(), INSTRUCTION, seed=3)
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    assert difference(one, editor.edit(picture(), INSTRUCTION, seed=3)) == 0
    assert torch.equal(before, torch.random.get_rng_state())
    assert difference(one, editor.edit(picture(), INSTRUCTION, seed=4)) > 20
    assert difference(one, editor.edit(picture(), "Something else", seed=3)) > 0


def test_the_pipeline_is_loaded_once_and_only_when_it_is_needed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models import diffusers_editor

    loads: list[str] = []
    real = diffusers_editor.load_pipeline

    def counted(plan: Any, **where: Any) -> Any:
        loads.append(plan.checkpoint)
        return real(plan, **where)

    monkeypatch.setattr(diffusers_editor, "load_pipeline", counted)
    editor = instruct(checkpoint)
    assert loads == []
    path = saved(tmp_path, picture())
    first = editor.generate(message(path))
    editor.generate(message(path, "Another edit"))
    assert loads == [str(checkpoint)]
    again = instruct(checkpoint)
    assert again.generate(message(path)) == first
    assert len(loads) == 1


def test_a_batch_gives_what_one_by_one_gives(checkpoint: Path, tmp_path: Path) -> None:
    from medbench_vlmeval.models.base import EditRequest

    requests = [
        EditRequest(
            image=picture(size_wh, seed=number),
            instruction=f"Edit {'very ' * number}much",
            seed=100 + number,
            image_path=tmp_path / f"{number}.png",
            image_bytes=b"",
        )
        for number, size_wh in enumerate([(32, 24), (24, 24), (32, 24), (32, 24)])
    ]
    together = instruct(checkpoint, batch_size=4)
    sizes: list[int] = []
    ask = together.ask
    together.ask = lambda asks: sizes.append(len(asks)) or ask(asks)
    results = together.edit_requests(requests)
    assert sizes == [3, 1]
    alone = instruct(checkpoint)
    for request, result in zip(requests, results, strict=True):
        single = alone.edit(request.image, request.instruction, seed=request.seed)
        # The last bit of a floating-point sum may differ with the shape of a batch.
        assert difference(result, single) <= 1
    assert difference(results[0], results[2]) > 20


@pytest.mark.parametrize("rule", ["pipeline", "resize", "pad"])
@pytest.mark.parametrize("size_wh", [(45, 31), (8, 9), (64, 40)], ids=str)
def test_any_size_comes_back_in_its_own(
    checkpoint: Path, rule: str, size_wh: tuple[int, int]
) -> None:
    editor = instruct(checkpoint, size_rule=rule)
    assert editor.settings["size_rule"] == rule
    assert editor.edit(picture(size_wh), INSTRUCTION, seed=1).size == size_wh


def test_padding_shifts_and_scales_nothing() -> None:
    from medbench_vlmeval.models.diffusers_sizes import fit, restore

    image = picture((45, 31))
    fitted = fit(image, rule="pad", multiple=8, max_side=None)
    assert fitted.image.size == (48, 32)
    assert difference(restore(fitted.image, fitted), image) == 0
    pixels = np.asarray(fitted.image)
    assert (pixels[:, 45:] == pixels[:, 44:45]).all()


def test_a_longest_side_holds_under_every_rule() -> None:
    from medbench_vlmeval.models.diffusers_sizes import SIZE_RULES, fit, restore

    for rule in SIZE_RULES:
        fitted = fit(picture((100, 61)), rule=rule, multiple=16, max_side=50)
        assert max(fitted.image.size) <= (64 if rule == "pad" else 50)
        assert restore(fitted.image, fitted).size == (100, 61)
        if rule != "pipeline":
            assert all(side % 16 == 0 for side in fitted.image.size)


@pytest.mark.parametrize("kind", ["rgba", "grey 16 bit", "palette"])
def test_inputs_of_other_kinds_reach_the_pipeline_as_rgb(
    checkpoint: Path, tmp_path: Path, kind: str
) -> None:
    image = picture()
    if kind == "rgba":
        image.putalpha(120)
    elif kind == "palette":
        image = image.quantize(16)
    else:
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    editor = instruct(checkpoint)
    pixels = stored(editor, editor.generate(message(saved(tmp_path, image))))
    assert pixels.shape == (24, 32, 3)
    assert pixels.std() > 5


@pytest.mark.parametrize(
    "instruction",
    [
        "删除息肉。",
        "Retire el pólipo {instruction} y {0}",
        "أزل الورم",
        "ポリープを除去して <|image_1|>",
    ],
    ids=["zh", "es", "ar", "ja"],
)
def test_words_of_any_language_arrive_unchanged(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instruction: str
) -> None:
    editor = instruct(checkpoint)
    asked: list[str] = []
    pipe = type(editor.loaded.pipe)
    encode = pipe._encode_prompt
    monkeypatch.setattr(
        pipe,
        "_encode_prompt",
        lambda self, prompt, *a, **k: asked.append(prompt) or encode(self, prompt, *a, **k),
    )
    stored(editor, editor.generate(message(saved(tmp_path, picture()), instruction)))
    assert asked == [instruction]


def test_a_template_is_filled_once() -> None:
    from medbench_vlmeval.models.diffusers_plan import filled_in

    assert filled_in("<img> {instruction}!", "{instruction} {x}") == "<img> {instruction} {x}!"


def test_everything_that_was_set_is_recorded(checkpoint: Path, tmp_path: Path) -> None:
    editor = instruct(checkpoint, name="Mine", revision="abc", max_side=512)
    line = editor.generate(message(saved(tmp_path, picture())))
    described = editor.store.description(json.loads(line)["edited_image"]["settings"])
    assert described["model"] == "Mine"
    assert described["pipeline"] == "StableDiffusionInstructPix2PixPipeline"
    assert described["call"] == {
        "num_inference_steps": 2,
        "guidance_scale": 7.5,
        "image_guidance_scale": 1.6,
    }
    assert (described["revision"], described["max_side"]) == ("abc", 512)
    assert (described["device"], described["dtype"]) == ("cpu", "float32")
    assert described["scheduler"] == "EulerAncestralDiscreteScheduler"
    assert "seeds" in described["unknown"]


def test_another_pipeline_needs_one_entry(tmp_path: Path) -> None:
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    folder = save_image_to_image(tmp_path / "img2img")
    editor = DiffusersEditor(
        pipeline="StableDiffusionImg2ImgPipeline",
        checkpoint=str(folder),
        call={"num_inference_steps": 2, "strength": 0.5},
        load={"safety_checker": None},
    )
    assert type(editor.loaded.pipe.scheduler).__name__ == "PNDMScheduler"
    assert editor.edit(picture((33, 24)), INSTRUCTION, seed=1).size == (33, 24)


def test_kontext_keeps_the_shape_of_the_picture_and_batches(tmp_path: Path) -> None:
    from medbench_vlmeval.models.base import EditRequest
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    where = str(save_flux_kontext(tmp_path / "kontext"))
    # Its own sizes have a megapixel, which is much for a test.
    small = {"num_inference_steps": 2, "max_area": 64 * 32, "_auto_resize": False}
    editor = DiffusersEditor(entry="FLUX.1-Kontext-dev", checkpoint=where, call=small, batch_size=2)
    asked: list[dict[str, Any]] = []
    arguments = editor.arguments
    editor.arguments = lambda asks: asked.append(arguments(asks)) or asked[-1]
    requests = [
        EditRequest(picture((64, 30), it), f"edit {it}", it, tmp_path / f"{it}.png", b"")
        for it in (1, 2)
    ]
    together = editor.edit_requests(requests)
    assert [(call["width"], call["height"]) for call in asked] == [(64, 30)]
    assert asked[0]["guidance_scale"] == 2.5
    for request, result in zip(requests, together, strict=True):
        assert result.size == (64, 30)
        alone = editor.edit(request.image, request.instruction, seed=request.seed)
        assert difference(result, alone) <= 1
    assert difference(together[0], together[1]) > 20


def test_omnigen_gets_its_picture_in_a_list_with_a_placeholder(tmp_path: Path) -> None:
    from medbench_vlmeval.models.diffusers_asks import Ask
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    where = str(save_omnigen(tmp_path / "omnigen"))
    editor = DiffusersEditor(entry="OmniGen-v1", checkpoint=where, call={"num_inference_steps": 1})
    asked = editor.arguments([Ask(editor.fitted(picture((70, 50))), INSTRUCTION, 1)])
    assert asked["prompt"] == f"<img><|image_1|></img> {INSTRUCTION}"
    assert [image.size for image in asked["input_images"]] == [(64, 48)]
    edited = editor.edit(picture((70, 50)), INSTRUCTION, seed=1)
    assert edited.size == (70, 50)
    assert difference(edited, editor.edit(picture((70, 50), 1), INSTRUCTION, seed=1)) > 0


def test_a_scheduler_is_set_with_its_configuration(checkpoint: Path) -> None:
    editor = instruct(checkpoint, scheduler_config={"beta_end": 0.02})
    scheduler = editor.loaded.pipe.scheduler
    assert type(scheduler).__name__ == "EulerAncestralDiscreteScheduler"
    assert (scheduler.config.beta_start, scheduler.config.beta_end) == (0.00085, 0.02)


def test_a_rank_of_torchrun_uses_the_current_device_and_its_own_questions(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    for name, value in {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    lend_packs(tmp_path / "LMUData", MEDEBENCH)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    from vlmeval.dataset import build_dataset

    dataset = build_dataset("MedEBench_sample")
    editor = instruct(checkpoint, batch_size=2)
    editor.set_dump_image(dataset.dump_image)
    asked = [editor.generate(dataset.build_prompt(dataset.data.iloc[it])) for it in (1, 3)]
    assert all(read_edit_reply(line).status is Status.ANSWER for line in asked)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    on_gpu = instruct(checkpoint)
    assert (on_gpu.device, on_gpu.dtype) == ("cuda", "float16")
    assert on_gpu.settings["device"] == "cuda"


def test_calls_from_many_threads_give_what_one_thread_gives(
    checkpoint: Path, tmp_path: Path
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    paths = [saved(tmp_path, picture(seed=it), f"{it}.png") for it in range(4)]
    editor = instruct(checkpoint, reuse_edits=False)
    expected = [editor.generate(message(path)) for path in paths]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda path: editor.generate(message(path)), paths)) == expected
