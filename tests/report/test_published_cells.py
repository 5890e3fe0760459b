"""A cell of the ledger: value in our scale, place among our results, and how it is found."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from medbench_vlmeval.report.published import published_cells, published_models, tables


def test_a_cell_is_the_printed_figure_in_our_scale() -> None:
    of_column = {(table.id, column.key): column for table in tables() for column in table.columns}
    for cell in published_cells():
        column = of_column[cell.table, cell.column]
        assert cell.value == float(Decimal(cell.as_printed) * column.scale)
        percent = cell.table.startswith(("medsg", "medqdeg", "medq-perception", "medq-human"))
        assert column.scale == (Decimal("0.01") if percent or "degrad" in cell.table else 1)
    (gpt_5,) = (
        cell
        for cell in published_cells("MedQ-Bench")
        if (cell.table, cell.model, cell.column) == ("medq-perception", "GPT-5", "What")
    )
    assert (gpt_5.value, gpt_5.as_printed, gpt_5.half_unit) == (0.6047, "60.47", 0.00005)
    assert (gpt_5.metric, gpt_5.group_by, gpt_5.group) == ("accuracy", "question_type", "What")
    assert (gpt_5.n, gpt_5.caveats, gpt_5.note) == (258, (), "")


def test_half_units() -> None:
    wanted = {
        "medebench-overall": {0.005},
        "medebench-attention-examples": {0.005, 0.0005},
        "medebench-attention-organs": {0.002},
        "medsg-iou": {0.00005},
        "medq-comparison": {0.0005},
        "medq-degradation": {0.005},
        "medqdeg-levels": {0.00005},
        "medqdeg-families": {0.0005},
    }
    found: dict[str, set[float]] = {}
    for cell in published_cells():
        found.setdefault(cell.table, set()).add(cell.half_unit)
    assert {table: found[table] for table in wanted} == wanted


def test_a_task_is_the_overall_figure_of_its_own_data_set() -> None:
    alone = published_cells(dataset="MedSG_Referring_test")
    within = [
        cell
        for cell in published_cells(dataset="MedSG_test")
        if (cell.group_by, cell.group) == ("task", "referring")
    ]
    assert len(alone) == len(within) == 44
    assert {(cell.group_by, cell.group) for cell in alone} == {("overall", "Overall")}
    assert {cell.dataset for cell in alone} == {"MedSG_Referring_test"}
    assert [(it.model, it.value, it.note) for it in alone] == [
        (it.model, it.value, it.note) for it in within
    ]


def test_models_and_filters() -> None:
    assert published_models("MedQ_Paired_test") == (
        "GPT-5", "GPT-4o", "Grok-4", "Gemini-2.5-Pro", "InternVL3-8B",
    )  # fmt: skip
    assert published_models("MedEBench_sample") == ()
    assert published_cells(dataset="MedQ_MCQ_dev") == ()
    assert published_cells("MedEBench", "MedSG_test") == ()
    with pytest.raises(ValueError, match="expected one of MedEBench, MedQ-Bench"):
        published_cells("MedE")


def test_no_result_is_published_twice_for_the_same_model() -> None:
    places = Counter(
        (cell.dataset, cell.model, cell.metric, cell.group_by, cell.group)
        for cell in published_cells()
        if cell.is_comparable
    )
    assert [place for place, times in places.items() if times > 1] == []


def test_every_table_can_be_cited() -> None:
    for table in tables():
        assert f"arXiv {table.source.arxiv}, {table.source.table} (" in table.source.citation
        assert table.source.read_from in table.source.citation
