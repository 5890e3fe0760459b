from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.evaluation.medsg_prompt import (
    CONVENTION_VARIABLE,
    asked_question,
    chosen_convention,
    convention_asked_in,
    message_parts,
)
from medbench_vlmeval.types import Box

from ..data.releases import picture
from .test_medsg import sample

REFERENCE = "<|box_start|>(10,20),(30,40)<|box_end|>"
QUESTION = f"Find the object of the first image({REFERENCE}) in this image."
S1 = (
    "Format: <|box_start|>(x1,y1),(x2,y2)<|box_start|>. Strictly follow this format. "
    "Output only the coordinates. No additional text or explanation."
)


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    paths = []
    for number in range(2):
        path = tmp_path / f"{number}.png"
        path.write_bytes(picture(number, (40, 80)))
        paths.append(path)
    return sample(1, question=QUESTION, images=tuple(paths), reference_box=Box(10, 20, 30, 40))


@pytest.mark.parametrize(
    ("explicit", "reference"),
    [
        ("absolute", "<box>(10,20),(30,40)</box>"),
        ("Qwen2.5-VL", REFERENCE),
        ("Migician", "<|box_start|>[250,250,750,500]<|box_end|>"),
        ("Mantis", "<box>[0.25,0.25,0.75,0.5]</box>"),
    ],
)
def test_the_reference_box_is_written_as_the_family_reads_it(
    asked: Any, explicit: str, reference: str
) -> None:
    convention = convention_for("", explicit=explicit)
    question = asked_question(asked, convention)
    assert question == QUESTION.replace(REFERENCE, reference) + convention.prompt_suffix


def test_a_family_without_a_published_range_is_asked_in_words(asked: Any) -> None:
    question = asked_question(asked, convention_for("llava_onevision_qwen2_7b_si"))
    assert "<box>[250,250,750,500]</box>" in question
    assert "integers from 0 to 1000" in question


def test_the_published_suffix_is_glued_on_to_the_letter(asked: Any) -> None:
    question = asked_question(asked, convention_for("Qwen2.5-VL-7B-Instruct"))
    assert question == QUESTION + S1


def test_images_come_first_and_in_order(asked: Any) -> None:
    parts = message_parts(asked, convention_for("", explicit="absolute"))
    assert [kind for kind, _ in parts] == ["image", "image", "text"]
    assert [Path(value).name for kind, value in parts if kind == "image"] == ["0.png", "1.png"]


def test_families_that_announce_images_get_a_line_for_each(asked: Any) -> None:
    parts = message_parts(asked, convention_for("InternVL2-8B"))
    assert [kind for kind, _ in parts] == ["text", "image", "text", "image", "text"]
    assert str(parts[0][1]).startswith("Image-1:")


def test_a_sample_without_an_image_cannot_be_asked(asked: Any) -> None:
    incomplete = sample(1, images=(asked.images[0], None))
    with pytest.raises(ValueError, match="image 2 is missing"):
        message_parts(incomplete, convention_for(""))


@pytest.mark.parametrize(
    ("argv", "environ", "name", "source"),
    [
        (["run.py", "--model", "Qwen2.5-VL-7B-Instruct", "--data", "x"], {}, "absolute", "model"),
        (["run.py", "--data", "x", "--model=InternVL3-8B"], {}, "norm1000", "model"),
        (["run.py", "--model", "Qwen2.5-VL-7B", "InternVL3-8B"], {}, "norm1000", "prompt"),
        (["run.py"], {}, "norm1000", "prompt"),
        (
            ["run.py", "--model", "Qwen2.5-VL-7B"],
            {CONVENTION_VARIABLE: "norm1"},
            "norm1",
            "explicit",
        ),
    ],
    ids=["one model", "with equals sign", "two models", "none", "explicit"],
)
def test_the_convention_is_declared_and_never_guessed(
    argv: list[str], environ: dict[str, str], name: str, source: str
) -> None:
    convention = chosen_convention(environ, argv)
    assert (convention.name, convention.source) == (name, source)


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a convention or a family"):
        chosen_convention({CONVENTION_VARIABLE: "pixels"}, [])


@pytest.mark.parametrize("name", ["absolute", "norm1000", "norm1", "yxyx1000"])
def test_a_prompt_tells_which_convention_it_asks_for(asked: Any, name: str) -> None:
    assert convention_asked_in(asked_question(asked, convention_for("", explicit=name))) == name


def test_the_published_suffix_tells_it_too(asked: Any) -> None:
    assert convention_asked_in(asked_question(asked, convention_for("Qwen2.5-VL-7B"))) == "absolute"


def test_a_prompt_without_a_suffix_is_refused() -> None:
    with pytest.raises(ValueError, match="format suffix"):
        convention_asked_in("Where is the lesion?")
