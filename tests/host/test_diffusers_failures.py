"""What goes wrong in a pipeline, and what becomes of it: a stand-in misbehaves on demand."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.editing import NoImageReturned, read_edit_reply
from medbench_vlmeval.types import Status

pytestmark = pytest.mark.host

Behaviour = Callable[[list[str], list[Image.Image]], Any]


class StandIn:
    """Called as a pipeline of diffusers is; remembers how many images came at once."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.sizes: list[int] = []

    def __call__(
        self, prompt: Any = None, image: Any = None, generator: Any = None, output_type: str = "pil"
    ) -> Any:
        prompts = [prompt] if isinstance(prompt, str) else prompt
        images = [image] if isinstance(image, Image.Image) else image
        self.sizes.append(len(images))
        return self.behaviour(prompts, images)


def inverted(prompts: list[str], images: list[Image.Image]) -> Any:
    pixels = [1.0 - np.asarray(image).astype(np.float32) / 255 for image in images]
    return SimpleNamespace(images=np.stack(pixels))


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Any, StandIn]]:
    """Makes an editor on a stand-in."""
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))

    def made(behaviour: Behaviour, *, without: str = "", **arguments: Any) -> tuple[Any, StandIn]:
        import torch

        from medbench_vlmeval.models import diffusers_editor
        from medbench_vlmeval.models.diffusers_loading import LoadedPipeline

        pipe = StandIn(behaviour)
        names = frozenset({"prompt", "image", "generator", "output_type"} - {without})
        loaded = LoadedPipeline(pipe, torch.device("cpu"), names)
        monkeypatch.setattr(diffusers_editor, "load_pipeline", lambda plan, **where: loaded)
        given = {"pipeline": "StandIn", "checkpoint": "stand/in", "batched": True, **arguments}
        return diffusers_editor.DiffusersEditor(**given), pipe

    return made


def requests(n: int, *, dark: bool = False) -> list[Any]:
    from medbench_vlmeval.models.base import EditRequest

    colour = (0, 0, 0) if dark else (90, 120, 30)
    return [
        EditRequest(
            image=Image.new("RGB", (16, 8), colour),
            instruction=f"edit {number}",
            seed=number,
            image_path=Path(f"{number}.png"),
            image_bytes=b"",
        )
        for number in range(n)
    ]


def out_of_memory_above(most: int, error: Callable[[str], Exception] = RuntimeError) -> Behaviour:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        if len(images) > most:
            raise error("CUDA out of memory. Tried to allocate 2.00 GiB")
        return inverted(prompts, images)

    return behaviour


def is_edited(result: object) -> bool:
    return isinstance(result, Image.Image) and result.getpixel((0, 0)) == (165, 135, 225)


@pytest.mark.parametrize("kind", ["RuntimeError", "OutOfMemoryError", "MemoryError"])
def test_a_batch_is_halved_until_it_fits_and_stays_so(build: Any, kind: str) -> None:
    import torch

    error = {"OutOfMemoryError": torch.OutOfMemoryError, "MemoryError": MemoryError}.get(
        kind, RuntimeError
    )
    editor, pipe = build(out_of_memory_above(2, error), batch_size=8)
    assert all(map(is_edited, editor.edit_requests(requests(8))))
    assert pipe.sizes == [8, 4, 2, 2, 2, 2]
    assert all(map(is_edited, editor.edit_requests(requests(4))))
    assert pipe.sizes[6:] == [2, 2]


def test_out_of_memory_lets_go_of_what_the_failed_batch_held(build: Any) -> None:
    import gc
    import weakref

    import torch

    held: list[Any] = []

    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        tensor = torch.zeros(10)
        held.append(weakref.ref(tensor))
        if len(images) > 1:
            raise torch.OutOfMemoryError("out of memory")
        gc.disable()
        try:
            assert held[0]() is None, "the tensors of the failed batch are still held"
        finally:
            gc.enable()
        return inverted(prompts, images)

    editor, _ = build(behaviour, batch_size=2)
    assert all(map(is_edited, editor.edit_requests(requests(2))))


def test_one_edit_that_never_fits_fails_alone(build: Any) -> None:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        if "edit 1" in prompts:
            raise RuntimeError("CUDA out of memory")
        return inverted(prompts, images)

    editor, _ = build(behaviour, batch_size=4)
    results = editor.edit_requests(requests(4))
    assert [is_edited(it) for it in results] == [True, False, True, True]
    assert "out of memory" in str(results[1])


def test_a_failure_of_one_edit_costs_the_others_nothing(build: Any) -> None:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        if "edit 2" in prompts:
            raise ValueError("cannot encode this")
        return inverted(prompts, images)

    editor, pipe = build(behaviour, batch_size=4)
    results = editor.edit_requests(requests(4))
    assert [is_edited(it) for it in results] == [True, True, False, True]
    assert isinstance(results[2], NoImageReturned)
    assert pipe.sizes == [4, 1, 1, 1, 1]


def test_when_the_question_asked_fails_the_others_are_not_edited_again(build: Any) -> None:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        if "edit 0" in prompts:
            raise ValueError("cannot encode this")
        return inverted(prompts, images)

    editor, pipe = build(behaviour, batch_size=3)
    with pytest.raises(ValueError, match="cannot encode this"):
        editor.edit_requests(requests(3))
    assert pipe.sizes == [3, 1, 1, 1]
    assert all(map(is_edited, editor.edit_requests(requests(3)[1:])))
    assert pipe.sizes == [3, 1, 1, 1]


def test_a_failed_call_reaches_the_host_as_one(build: Any, tmp_path: Path) -> None:
    editor, _ = build(out_of_memory_above(0))
    line = editor.generate(message(tmp_path))
    assert line.startswith("Failed to obtain answer via API. RuntimeError: CUDA out of memory")


def message(tmp_path: Path, colour: tuple[int, int, int] = (90, 120, 30)) -> list[dict[str, str]]:
    path = tmp_path / "1.png"
    Image.new("RGB", (16, 8), colour).save(path)
    return [{"type": "image", "value": str(path)}, {"type": "text", "value": "Remove it."}]


def as_array(*values: float, dtype: Any = np.float32) -> Behaviour:
    pixels = np.full((8, 16, 3), 0.5, dtype=dtype)
    pixels.ravel()[: len(values)] = values
    return lambda prompts, images: SimpleNamespace(images=pixels[None])


def cast_of_nan(prompts: list[str], images: list[Image.Image]) -> Any:
    warnings.warn("invalid value encountered in cast", RuntimeWarning, stacklevel=2)
    return SimpleNamespace(images=[Image.new("RGB", (16, 8))])


def flagged(prompts: list[str], images: list[Image.Image]) -> Any:
    black = np.zeros((1, 8, 16, 3), dtype=np.float32)
    return SimpleNamespace(images=black, nsfw_content_detected=[True])


@pytest.mark.parametrize(
    ("behaviour", "status", "words"),
    [
        (as_array(np.nan), "missing", "NaN"),
        (as_array(np.inf), "missing", "NaN"),
        (cast_of_nan, "missing", "NaN"),
        (flagged, "refusal", "safety filter"),
        (lambda p, i: SimpleNamespace(images=[Image.new("RGB", (16, 8))]), "refusal", "all-black"),
        (lambda p, i: SimpleNamespace(images=["a text"]), "missing", "a str instead"),
        (lambda p, i: SimpleNamespace(images=[None]), "missing", "a NoneType instead"),
        (lambda p, i: SimpleNamespace(images=np.zeros((1, 4, 8, 16, 3))), "missing", "shape"),
    ],
    ids=["nan", "inf", "cast", "flagged", "black", "text", "none", "video"],
)
def test_what_is_no_edit_is_told_apart(
    build: Any, tmp_path: Path, behaviour: Behaviour, status: str, words: str
) -> None:
    editor, _ = build(behaviour)
    reply = json.loads(editor.generate(message(tmp_path)))
    assert reply["edited_image"] is None
    assert reply["status"] == status
    assert words in reply["reason"]


def test_a_black_edit_of_a_black_picture_is_an_edit(build: Any, tmp_path: Path) -> None:
    editor, _ = build(as_array(*[0.0] * (8 * 16 * 3)))
    line = editor.generate(message(tmp_path, (0, 0, 0)))
    assert read_edit_reply(line).status is Status.ANSWER


def test_nan_in_one_of_a_batch_is_the_matter_of_that_one(build: Any) -> None:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        output = inverted(prompts, images)
        output.images[prompts.index("edit 1")] = np.nan
        return output

    editor, pipe = build(behaviour, batch_size=3)
    results = editor.edit_requests(requests(3))
    assert [is_edited(it) for it in results] == [True, False, True]
    assert pipe.sizes == [3]


def test_a_pipeline_that_mixes_a_batch_into_one_image_is_found_out(build: Any) -> None:
    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        return inverted(prompts, images[:1])

    editor, pipe = build(behaviour, batch_size=2)
    assert all(map(is_edited, editor.edit_requests(requests(2))))
    assert pipe.sizes == [2, 1, 1]


def test_a_pipeline_not_known_to_batch_is_not_given_batches(
    build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    editor, pipe = build(inverted, batch_size=4, batched=None)
    assert all(map(is_edited, editor.edit_requests(requests(2))))
    assert pipe.sizes == [1, 1]
    assert "batch_size 4 is ignored" in caplog.text


def test_a_pipeline_without_generators_edits_one_by_one_from_the_global_seed(build: Any) -> None:
    import torch

    def noisy(prompts: list[str], images: list[Image.Image]) -> Any:
        return SimpleNamespace(images=torch.rand(1, 8, 16, 3).numpy())

    editor, pipe = build(noisy, without="generator", batch_size=4)
    together = editor.edit_requests(requests(3))
    assert pipe.sizes == [1, 1, 1]
    alone, _ = build(noisy, without="generator")
    assert np.array_equal(alone.edit_requests(requests(3)[2:])[0], together[2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"chekpoint": "x"}, "did you mean checkpoint"),
        ({"pipeline": ""}, "expected pipeline"),
        ({"dtype": "fp16"}, "expected dtype to be one of auto, float32, float16, bfloat16"),
        ({"size_rule": "stretch"}, "expected size_rule"),
        ({"size_multiple": 0}, "expected size_multiple and max_side >= 1"),
        ({"template": "edit it"}, "expected a template with {instruction}"),
        ({"call": 5}, "expected call to be a mapping"),
        ({"entry": "InstructPix2Pics"}, "did you mean InstructPix2Pix"),
        ({"batch_size": 0}, "batch_size"),
    ],
    ids=lambda it: next(iter(it)) if isinstance(it, dict) else "",
)
def test_a_wrong_argument_is_named_when_the_model_is_built(
    build: Any, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        build(inverted, **arguments)


def test_a_model_of_one_picture_reads_the_instruction_of_that_picture_alone(build: Any) -> None:
    from vlmeval.dataset import build_dataset

    read: list[str] = []

    def behaviour(prompts: list[str], images: list[Image.Image]) -> Any:
        read.extend(prompts)
        return inverted(prompts, images)

    plain, shown = (build_dataset(f"MedEBench_{kind}sample") for kind in ("", "1shot_"))
    editor, _ = build(behaviour)
    for dataset in (plain, shown):
        editor.generate(dataset.build_prompt(dataset.data.iloc[0]), dataset.dataset_name)
    assert len(read) == 2
    assert read[0] == read[1]
