from __future__ import annotations

import pytest

from medbench_vlmeval.data.medq_fields import (
    read_choice_answer,
    read_difficulty,
    read_level,
    read_options,
    read_scope,
    type_derived,
    type_named,
)

FIVE = {letter: f"option {letter}" for letter in "ABCDE"}


@pytest.mark.parametrize(
    ("cell", "letter"),
    [
        ("A", "A"),
        ("b", "B"),
        (" C ", "C"),
        # Q6: positions, and positions that pandas read as float
        ("0.0", "A"),
        ("1.0", "B"),
        ("2.0", "C"),
        ("2", "C"),
        ("3", "D"),
        ("4", "E"),
        ("E", "E"),
    ],
)
def test_an_answer_is_a_letter_or_a_position_from_zero(cell, letter):
    assert read_choice_answer(cell, FIVE) == (letter, "")


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("", "answer missing"),
        ("  ", "answer missing"),
        ("F", "answer not among the options"),
        ("5", "answer not among the options"),
        ("26", "answer not among the options"),
        ("1.5", "answer unreadable"),
        ("-1", "answer unreadable"),
        ("nan", "answer unreadable"),
        ("Good", "answer unreadable"),
        ("A, B", "answer unreadable"),
    ],
)
def test_an_answer_that_the_row_does_not_offer_is_none_and_a_problem(cell, problem):
    assert read_choice_answer(cell, FIVE) == (None, problem)


def test_options_are_in_the_order_of_letters_and_blank_cells_are_none():
    row = {"C": "c", "question": "?", "A": " a ", "B": "  ", "F": "None", "AB": "no option"}
    assert list(read_options(row).items()) == [("A", " a "), ("C", "c"), ("F", "None")]


@pytest.mark.parametrize(
    ("question", "options", "expected"),
    [
        ("Is there noise?", ["Yes", "No"], "Yes-or-No"),
        ("Is there noise?", ["no.", "YES"], "Yes-or-No"),
        ("How noisy? Is it?", ["Yes", "No"], "Yes-or-No"),
        ("Is there noise?", ["Yes", "No", "Unclear"], ""),
        ("What is wrong?", ["Noise", "Blur"], "What"),
        ("  which one, then?", ["Noise", "Blur"], "What"),
        ("What's wrong?", ["Noise", "Blur"], "What"),
        ("What grade has it?", ["Good", "Reject"], "What"),
        ("How is the contrast?", ["Even", "Uneven"], "How"),
        ("Rate the image.", ["Good", "Usable", "Reject"], "How"),
        ("Rate the noise.", ["None", "Mild", "Moderate", "Severe"], "How"),
        ("Rate it.", ["Good quality", "Poor quality"], "How"),
        ("Whatever it shows", ["Noise", "Blur"], ""),
        ("Choose.", ["Good", "Motion"], ""),
        ("Choose.", [], ""),
    ],
)
def test_the_type_is_told_by_options_then_by_the_first_word(question, options, expected):
    assert type_derived(question, dict(zip("ABCD", options, strict=False))) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Yes-or-No", "Yes-or-No"),
        ("yes_or_no", "Yes-or-No"),
        ("Yes/No", "Yes-or-No"),
        ("Yes-or-No questions", "Yes-or-No"),
        ("WHAT", "What"),
        ("how question", "How"),
        ("howl", ""),
        ("noise", ""),
        ("", ""),
    ],
)
def test_a_type_is_recognised_in_any_spelling_and_never_guessed(cell, expected):
    assert type_named(cell) == expected


def test_levels_scopes_and_difficulties_have_one_spelling_and_others_stay_as_written():
    assert [read_level(cell) for cell in ("None", "MILD", "l2", "Level 2", "3")] == [
        *("none", "mild", "L2", "Level 2", "3")
    ]
    assert [read_scope(cell) for cell in ("General", "modality_specific", "both")] == [
        *("general", "modality-specific", "both")
    ]
    assert [read_difficulty(cell) for cell in ("coarse", "Fine-Grained", "hard")] == [
        *("coarse-grained", "fine-grained", "hard")
    ]
