from __future__ import annotations

import pytest

from medbench_vlmeval.data import ColumnsUnclear
from medbench_vlmeval.data.columns import COLUMN_ALIASES, match_columns

RELEASED = [
    "id",
    "Organ",
    "Task",
    "prompt",
    "rephrased_prompt",
    "detailed_prompt",
    "previous_image",
    "changed_image",
    "previous_mask",
    "url",
]


def without(*columns: str) -> list[str]:
    return [column for column in RELEASED if column not in columns]


def test_the_released_keys_are_found():
    assert match_columns(RELEASED) == {
        "id": "id",
        "organ": "Organ",
        "task": "Task",
        "instruction": "prompt",
        "description": "detailed_prompt",
        "url": "url",
        "previous": "previous_image",
        "reference": "changed_image",
        "roi": "previous_mask",
    }


@pytest.mark.parametrize("column", ["previous_image_file_name", "Previous Image", "Previous-Image"])
def test_case_punctuation_and_the_endings_of_the_hub_do_not_matter(column):
    assert match_columns([*without("previous_image"), column])["previous"] == column


def test_a_released_name_wins_over_other_names_for_the_same_field():
    columns = match_columns([*RELEASED, "instruction", "mask", "input_image"])
    assert (columns["instruction"], columns["roi"]) == ("prompt", "previous_mask")


def test_two_candidates_are_not_decided():
    found = [*without("previous_image"), "input_image", "source_image"]
    with pytest.raises(ColumnsUnclear, match=r"previous: any of input_image, source_image"):
        match_columns(found)


def test_two_spellings_of_one_released_name_are_not_decided():
    with pytest.raises(ColumnsUnclear, match=r"organ: any of Organ, organ"):
        match_columns([*RELEASED, "organ"])


def test_the_message_lists_the_columns_and_how_to_name_them():
    with pytest.raises(ColumnsUnclear) as caught:
        match_columns([*without("changed_image", "previous_image"), "image_a", "image_b"])
    text = str(caught.value)
    assert "previous: none found; reference: none found" in text
    assert "image_a, image_b" in text
    assert "--column previous=input_image" in text
    assert all(field in text for field in COLUMN_ALIASES)


def test_an_explicit_column_decides():
    found = [*without("changed_image", "previous_image"), "image_a", "image_b"]
    columns = match_columns(found, {"previous": "image_a", "reference": "image_b"})
    assert (columns["previous"], columns["reference"]) == ("image_a", "image_b")


def test_a_field_may_be_declared_absent_and_ids_may_follow_the_rows():
    columns = match_columns(without("id", "previous_mask"), {"id": "#row", "roi": "-"})
    assert columns["id"] == "#row"
    assert "roi" not in columns


@pytest.mark.parametrize(
    "explicit", [{"previous": "nowhere"}, {"previous": "#row"}, {"colour": "url"}]
)
def test_an_explicit_column_or_field_that_does_not_exist_is_refused(explicit):
    with pytest.raises(ColumnsUnclear, match="expected"):
        match_columns(RELEASED, explicit)


def test_only_the_address_may_be_missing():
    assert "url" not in match_columns(without("url"))
    for column in without("url", "rephrased_prompt"):
        with pytest.raises(ColumnsUnclear, match="none found"):
            match_columns(without(column))
