"""Every figure of the ledger is that of the transcriptions beside the checkout; none is lost."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from medbench_vlmeval.report.published import published_cells, published_models, tables

from ..shared import shared_path

Figures = dict[tuple[str, str, str], float | None]
"""Table, model and column to the figure as transcribed."""

METRICS = ("EA", "CP", "VQ")
TASKS = {
    "Registered_Diff": "RDG",
    "Non_Registered_Diff": "NRDG",
    "multi_view": "MV",
    "object_tracking": "OT",
    "concept": "VCG",
    "patch": "VPG",
    "crossmodal": "CMG",
    "referring": "RG",
}
TYPES = {"Yes-or-No": "yes_or_no", "What": "what", "How": "how", "Overall": "overall"}
REASONING = {
    "no_reference_reasoning_test": "medq-description",
    "comparative_reasoning_test": "medq-comparison",
}
SIZES = {
    "medebench-overall": (7, 4, 28),
    "medebench-organs": (7, 39, 273),
    "medebench-finetuning": (4, 18, 72),
    "medebench-incontext-0": (1, 18, 18),
    "medebench-incontext-1": (1, 18, 18),
    "medebench-incontext-2": (1, 18, 18),
    "medebench-incontext-3": (1, 18, 18),
    "medebench-attention-examples": (1, 6, 6),
    "medebench-attention-organs": (1, 13, 13),
    "medq-perception": (13, 4, 51),
    "medq-human": (1, 1, 1),
    "medq-human-gap": (1, 1, 1),
    "medq-description": (5, 5, 25),
    "medq-comparison": (5, 5, 25),
    "medq-degradation": (1, 3, 3),
    "medqdeg-levels": (40, 5, 200),
    "medqdeg-capabilities": (41, 14, 566),
    "medqdeg-families": (41, 12, 485),
    "medsg-iou": (22, 9, 198),
    "medsg-accuracy": (22, 9, 198),
}
"""Rows, columns and figures; a place without a figure is no figure."""


def transcribed(name: str) -> Any:
    return json.loads(shared_path(f"data/{name}").read_text(encoding="utf-8"))


def in_ledger(prefix: str) -> Figures:
    return {
        (table.id, row.model, key): None if printed is None else float(printed)
        for table in tables()
        if table.id.startswith(prefix)
        for row in table.rows
        for key, printed in row.cells.items()
    }


def test_medebench_by_model_and_organ() -> None:
    overall = transcribed("medebench_table2_overall.json")["models"]
    organs = transcribed("medebench_table2_per_organ.json")["models"]
    wanted: Figures = {
        ("medebench-overall", model, key): value
        for model, row in overall.items()
        for key, value in row.items()
    }
    wanted |= {
        ("medebench-organs", model, f"{organ}/{key}"): value
        for model, row in organs.items()
        for organ, triple in row.items()
        for key, value in triple.items()
    }
    assert in_ledger("medebench-o") == wanted


def test_medebench_fine_tuning_and_demonstrations() -> None:
    table = transcribed("medebench_table7_finetune_incontext.json")
    wanted: Figures = {}
    for task, rows in table["instruct_pix2pix_finetune_samples"].items():
        for n, triple in rows.items():
            model = "instruct-pix2pix" + (f", fine-tuned on {n}" if n != "0" else "")
            for key in METRICS:
                wanted["medebench-finetuning", model, f"{task}/{key}"] = triple[key]
    assert in_ledger("medebench-f") == wanted
    shown: Figures = {
        (f"medebench-incontext-{n}", "gemini_2_flash", f"{task}/{key}"): triple[key]
        for task, rows in table["gemini2_in_context_samples"].items()
        for n, triple in rows.items()
        for key in METRICS
    }
    assert in_ledger("medebench-i") == shown


def test_medebench_attention() -> None:
    attention = transcribed("medebench_attention.json")
    model = "instruct-pix2pix"
    wanted: Figures = {
        ("medebench-attention-examples", model, example["token"]): example["iou"]
        for example in attention["figure6"]
    }
    wanted |= {
        ("medebench-attention-organs", model, organ): value
        for organ, value in attention["per_organ_iou_bar"].items()
    }
    assert in_ledger("medebench-a") == wanted


def test_medsg() -> None:
    wanted: Figures = {}
    for row in transcribed("medsg_results_table3.json")["models"]:
        for table, key in (("medsg-iou", "iou"), ("medsg-accuracy", "acc50")):
            wanted[table, row["model"], "Avg"] = row[f"published_avg_{key}"]
            for task, value in row[key].items():
                wanted[table, row["model"], TASKS[task]] = value
    assert in_ledger("medsg") == wanted


def test_medq() -> None:
    data = transcribed("medq_tables.json")
    perception = data["perception_test"]
    wanted: Figures = {
        ("medq-perception", row["model"], column): row[key]
        for row in perception["rows"]
        for column, key in TYPES.items()
    }
    for name, table in REASONING.items():
        for row in data[name]["rows"]:
            for key in ("completeness", "preciseness", "consistency", "quality_accuracy"):
                wanted[table, row["model"], key] = row[key]
            wanted[table, row["model"], "Overall"] = row["overall"]
    wanted["medq-human", "Human experts", "Overall"] = perception["human_expert"]["overall"]
    wanted["medq-human-gap", "GPT-5", "gap"] = data["best_per_group"]["gap_to_human"]
    by_level = data["perception_by_degradation"]["average_over_models"]
    for level, value in by_level.items():
        wanted["medq-degradation", "Average over models", level] = value
    assert in_ledger("medq-") == wanted


def test_medq_best_of_each_group() -> None:
    overall = in_ledger("medq-perception")
    best = transcribed("medq_tables.json")["best_per_group"]
    for group in ("commercial", "open", "medical"):
        row = best[group]
        assert overall["medq-perception", row["model"], "Overall"] == row["overall"]


@pytest.mark.parametrize(
    ("table", "name", "average"),
    [
        ("medqdeg-capabilities", "table2_capability_L1L2", "table2_average_all_models"),
        ("medqdeg-families", "table3_degradation_L1L2", "table3_average_all_models"),
    ],
)
def test_medqdeg_by_kind(table: str, name: str, average: str) -> None:
    data = transcribed("medq_deg_tables.json")
    wanted: Figures = {}
    for model, row in data[name].items():
        for column, cell in row.items():
            wanted[table, model, column] = cell["acc"]
            wanted[table, model, f"{column} change"] = cell["delta_vs_L0"]
            wanted[table, "Average over models", column] = data[average].get(column)
            wanted[table, "Average over models", f"{column} change"] = None
    assert in_ledger(table) == wanted


def test_medqdeg_by_level() -> None:
    rows = transcribed("medq_deg_tables.json")["table6_overall_by_severity"]
    wanted: Figures = {
        ("medqdeg-levels", model, key.replace("_", "-")): value
        for model, row in rows.items()
        for key, value in row.items()
    }
    assert in_ledger("medqdeg-levels") == wanted


def test_sizes() -> None:
    figures = Counter(cell.table for cell in published_cells())
    assert {
        table.id: (len(table.rows), len(table.columns), figures[table.id]) for table in tables()
    } == SIZES


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
