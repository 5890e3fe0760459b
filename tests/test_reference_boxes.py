from __future__ import annotations

from dataclasses import replace

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.reference_boxes import question_for

QUESTION = (
    "These images share one object in common(the object marked with red bounding box in the first "
    "image(<|box_start|>(168,84),(252,100)<|box_end|>). Locate it."
)
BEFORE, AFTER = QUESTION.split("(<|box_start|>(168,84),(252,100)<|box_end|>)")


@pytest.mark.parametrize(
    ("model", "box"),
    [
        ("Qwen2.5-VL-7B-Instruct", "(<|box_start|>(168,84),(252,100)<|box_end|>)"),
        ("Migician", "(<|box_start|>[500,250,750,298]<|box_end|>)"),
        ("InternVL3-8B", "(<box>[500,250,750,298]</box>)"),
        ("MiniCPM-V-2_6", "(<box>[500,250,750,298]</box>)"),
        ("Mantis-8B-Idefics2", "(<box>[0.5,0.25,0.75,0.2976]</box>)"),
        ("gemini-2.5-pro", "(<box>[250,500,298,750]</box>)"),
        ("GPT4o", "(<box>[500,250,750,298]</box>)"),
    ],
)
def test_reference_box_is_written_as_the_family_writes_boxes(model: str, box: str) -> None:
    convention = convention_for(model)
    question = question_for(QUESTION, convention, size_wh=(336, 336))
    assert question == BEFORE + box + AFTER + convention.prompt_suffix


def test_published_removal_takes_the_brackets_along() -> None:
    convention = replace(convention_for("llava-onevision"), reference_box_form="removed")
    question = question_for(QUESTION, convention, size_wh=(336, 336))
    assert question == BEFORE + AFTER + convention.prompt_suffix


def test_pixels_are_those_of_the_image_as_sent() -> None:
    convention = convention_for("Qwen2.5-VL-7B-Instruct")
    question = question_for(QUESTION, convention, size_wh=(336, 336), sent_size_wh=(1008, 1008))
    assert "(504,252),(756,300)" in question


def test_name_tokens_become_tags_for_other_families() -> None:
    text = "described by: <|object_ref_start|>Skin<|object_ref_end|>."
    convention = convention_for("InternVL3-8B")
    question = question_for(text, convention, size_wh=(336, 336))
    assert question == "described by: <ref>Skin</ref>." + convention.prompt_suffix


def test_pixels_of_an_image_that_is_not_resized_stay() -> None:
    convention = convention_for("MedSeq-Grounder")
    for side in range(337):
        text = f"({side},{side}),({side},{side})"
        assert question_for(text, convention, size_wh=(336, 336)).startswith(text + "Format")
