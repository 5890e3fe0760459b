from __future__ import annotations

import pytest

from medbench_vlmeval.data import ColumnsUnclear
from medbench_vlmeval.data.medq_columns import match_medq_columns

from .medq_releases import caption_row, loaded, mcq_row, paired_row, prepared, write_table


@pytest.mark.parametrize(
    ("name", "rows", "column", "missing"),
    [
        ("MedQ_MCQ_test", [mcq_row()], "question", "question"),
        ("MedQ_MCQ_test", [mcq_row()], "answer", "answer"),
        ("MedQ_MCQ_test", [mcq_row()], "image", "images (image or image_path)"),
        ("MedQ_Caption_test", [caption_row()], "image", "images (image or image_path)"),
        # J8c: without references nothing can be judged, and that is no score of 0
        ("MedQ_Caption_test", [caption_row()], "description", "description"),
        ("MedQ_Paired_test", [paired_row()], "description", "description"),
        ("MedQ_Paired_test", [paired_row()], "image_b", "images (image_a and image_b, image, or"),
    ],
)
def test_a_needed_column_that_is_missing_stops_with_file_columns_and_remedy(
    tmp_path, name, rows, column, missing
):
    del rows[0][column]
    source = write_table(tmp_path, rows, name)
    with pytest.raises(ColumnsUnclear) as caught:
        prepared(source, name)
    text = str(caught.value)
    assert f"expected columns for {missing}" in text
    assert str(next(tmp_path.glob("*.tsv"))) in text
    assert f"found {', '.join(rows[0])}" in text
    assert "--column FIELD=NAME" in text


def test_a_choice_table_needs_two_columns_of_options(tmp_path):
    row = {name: cell for name, cell in mcq_row().items() if name not in ("B", "C")}
    with pytest.raises(ColumnsUnclear, match="options"):
        prepared(write_table(tmp_path, [row]))


def test_names_of_columns_are_read_in_any_case_and_spelling(tmp_path):
    row = {
        name.upper() if len(name) > 1 else name.lower(): cell
        for name, cell in mcq_row(Degradation_Type="noise", SEVERITY="Mild").items()
    }
    row |= {"Question Type": "how", "Source": "scanner", "Scope": "General", "Unknown One": "x"}
    (sample,) = loaded(tmp_path, [row]).samples
    assert sample.options == {"A": "Good", "B": "Usable", "C": "Reject"}
    assert (sample.question_type, sample.question_type_by) == ("How", "column")
    assert (sample.modality, sample.degradation, sample.level) == ("CT", "noise", "mild")
    assert (sample.scope, sample.origin) == ("general", "scanner")
    assert sample.extra == {"Unknown One": "x"}


def test_a_type_column_with_other_values_is_kept_and_the_type_derived(tmp_path):
    first, second = loaded(
        tmp_path, [mcq_row(0, category="noise"), mcq_row(1, category="What")]
    ).samples
    assert (first.question_type, first.question_type_by) == ("How", "derived")
    assert first.extra == {"category": "noise"}
    assert (second.question_type, second.question_type_by) == ("What", "column")
    assert second.extra == {}


def test_the_first_known_name_wins_and_the_other_column_is_kept(tmp_path):
    row = mcq_row(question_type="How", category="artefact", severity="mild", level="2")
    (sample,) = loaded(tmp_path, [row]).samples
    assert (sample.question_type, sample.level) == ("How", "mild")
    assert sample.extra == {"category": "artefact", "level": "2"}


def test_columns_that_differ_in_case_only_must_be_named():
    with pytest.raises(ColumnsUnclear, match="--column question=NAME"):
        match_medq_columns(["question", "Question"])
    named = match_medq_columns(["question", "Question"], {"question": "Question"})
    assert named == {"question": "Question"}
    assert match_medq_columns(["level"], {"level": "-"}) == {}


@pytest.mark.parametrize("explicit", [{"answr": "answer"}, {"answer": "absent"}])
def test_an_explicit_column_that_is_none_is_an_error(explicit):
    with pytest.raises(ColumnsUnclear, match="expected"):
        match_medq_columns(["answer"], explicit)


def test_columns_may_be_named_when_the_table_has_others(tmp_path):
    row = mcq_row()
    row["stem"] = row.pop("question")
    source = write_table(tmp_path, [row])
    with pytest.raises(ColumnsUnclear):
        prepared(source)
    assert prepared(source, columns={"question": "stem"}).problems == {}


def test_a_column_that_is_there_twice_stops_the_preparation(tmp_path):
    path = tmp_path / "medqbench_QA_test.tsv"
    path.write_text("index\tA\tA\n1\tx\ty\n", encoding="utf-8")
    with pytest.raises(ColumnsUnclear, match="A several times"):
        prepared(path)
