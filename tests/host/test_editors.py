"""Editors inside the real host: whatever a model does, the host gets one line of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def base() -> Any:
    from medbench_vlmeval.models import base

    return base


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "1.png"
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))


def _message(picture: Path, instruction: str = "Remove the polyp.") -> list[dict[str, str]]:
    return [{"type": "image", "value": str(picture)}, {"type": "text", "value": instruction}]


def _editor(base: Any, behaviour: Any, **settings: Any) -> Any:
    class Editor(base.ImageEditor):
        calls = 0

        def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Any:
            self.calls += 1
            return behaviour(image, instruction, seed)

    return Editor(name="Editor", **settings)


def test_an_edited_image_is_stored_and_named_in_one_line(base: Any, picture: Path) -> None:
    editor = _editor(base, lambda image, instruction, seed: image.transpose(Image.FLIP_LEFT_RIGHT))
    line = editor.generate(_message(picture), "MedEBench_test")
    fields = json.loads(line)["edited_image"]
    assert "\n" not in line
    assert fields["size"] == [32, 24]
    stored = editor.store.root / fields["sha256"][:2] / f"{fields['sha256']}.png"
    with Image.open(stored) as image, Image.open(picture) as original:
        assert np.array_equal(np.asarray(image), np.asarray(original)[:, ::-1])


def test_the_settings_of_an_editor_can_be_looked_up(base: Any, picture: Path) -> None:
    editor = _editor(base, lambda image, instruction, seed: image, steps=50, seed=3)
    fields = json.loads(editor.generate(_message(picture)))["edited_image"]
    described = editor.store.description(fields["settings"])
    assert (described["model"], described["steps"], described["seed"]) == ("Editor", 50, 3)
    assert isinstance(fields["seed"], int)


def test_the_same_edit_again_is_free(base: Any, picture: Path) -> None:
    editor = _editor(base, lambda image, instruction, seed: image)
    first = editor.generate(_message(picture))
    assert editor.generate(_message(picture)) == first
    assert editor.calls == 1
    editor.generate(_message(picture, "Remove another thing."))
    assert editor.calls == 2


def test_other_settings_are_another_edit(base: Any, picture: Path) -> None:
    behaviour = lambda image, instruction, seed: image  # noqa: E731
    one, two = _editor(base, behaviour, steps=5), _editor(base, behaviour, steps=6)
    assert one.generate(_message(picture)) != two.generate(_message(picture))
    assert (one.calls, two.calls) == (1, 1)


def test_the_seed_depends_on_the_input_and_not_on_the_order(base: Any, picture: Path) -> None:
    seeds: list[int] = []

    def note_seed(image: Image.Image, instruction: str, seed: int) -> Image.Image:
        seeds.append(seed)
        return image

    for order in ("ab", "ba"):
        editor = _editor(base, note_seed, reuse_edits=False)
        for instruction in order:
            editor.generate(_message(picture, instruction))
    assert seeds[0] == seeds[3]
    assert seeds[1] == seeds[2]
    assert seeds[0] != seeds[1]


def _raise(error: BaseException) -> Any:
    def behaviour(image: Image.Image, instruction: str, seed: int) -> Any:
        raise error

    return behaviour


@pytest.mark.parametrize(
    "error",
    [RuntimeError("CUDA out of memory"), ValueError("bad"), AssertionError(), KeyError("x")],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_becomes_a_failed_call(base: Any, picture: Path, error: Exception) -> None:
    line = _editor(base, _raise(error)).generate(_message(picture))
    assert line.startswith("Failed to obtain answer via API.")
    assert type(error).__name__ in line


def test_a_refusal_keeps_the_models_words_and_is_no_failed_call(base: Any, picture: Path) -> None:
    line = _editor(base, _raise(base.declined("I will not edit this."))).generate(_message(picture))
    assert json.loads(line) == {
        "edited_image": None,
        "status": "refusal",
        "reason": "I will not edit this.",
    }


@pytest.mark.parametrize(
    "result",
    ["a text", None, np.zeros((4, 4, 3)), Image.new("RGB", (0, 5))],
    ids=["text", "none", "array", "no pixels"],
)
def test_something_that_is_no_image_is_missing(base: Any, picture: Path, result: object) -> None:
    line = _editor(base, lambda *_: result).generate(_message(picture))
    assert json.loads(line)["status"] == "missing"


def test_bytes_that_are_no_image_become_a_failed_call(base: Any, picture: Path) -> None:
    line = _editor(base, lambda *_: b"not an image").generate(_message(picture))
    assert line.startswith("Failed to obtain answer via API.")


@pytest.mark.parametrize(
    "message",
    [
        [],
        "only words",
        [{"type": "text", "value": "only words"}],
        [{"type": "image", "value": "/nowhere/1.png"}, {"type": "text", "value": "x"}],
        None,
    ],
    ids=["empty", "text", "no image", "no file", "none"],
)
def test_an_unusable_message_does_not_raise(base: Any, message: object) -> None:
    editor = _editor(base, lambda image, instruction, seed: image)
    assert editor.generate(message).startswith("Failed to obtain answer via API.")


def test_a_truncated_input_does_not_raise(base: Any, picture: Path) -> None:
    picture.write_bytes(picture.read_bytes()[:200])
    editor = _editor(base, lambda image, instruction, seed: image)
    assert editor.generate(_message(picture)).startswith("Failed to obtain answer via API.")


def test_three_images_keep_their_order_and_the_last_is_edited(base: Any, tmp_path: Path) -> None:
    paths = []
    for number, colour in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        path = tmp_path / f"{number}.png"
        Image.new("RGB", (32, 32), colour).save(path)
        paths.append(path)
    seen: list[Any] = []

    class Several(base.ImageEditor):
        def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
            raise NotImplementedError

        def edit_request(self, request: Any) -> Image.Image:
            seen.append(request)
            return request.image

    message = [{"type": "image", "value": str(path)} for path in paths]
    Several(name="Several").generate([*message, {"type": "text", "value": "edit"}])
    assert seen[0].earlier_images == tuple(paths[:2])
    assert seen[0].image_path == paths[2]
    assert seen[0].image.getpixel((0, 0)) == (0, 0, 255)
