"""Every figure of the ledger is that of the transcriptions beside the checkout; none is lost."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from medbench_vlmeval.report.published import published_cells, tables

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
