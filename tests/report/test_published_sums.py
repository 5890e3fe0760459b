"""What can be recomputed from the printed figures is, and what contradicts itself is marked.

The contradictions are found here from the figures alone; the marks of the ledger must be these, no
more and no fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

import pytest

from medbench_vlmeval.data.medsg_tasks import MEDSG_TASKS
from medbench_vlmeval.official.medebench import ORGAN_COUNTS
from medbench_vlmeval.report.published import PublishedTable, tables

Place = tuple[str, str]
"""Model and column."""

TABLE = {table.id: table for table in tables()}
TASK_SIZES = {task.abbreviation: task.n_published for task in MEDSG_TASKS}
QUESTION_SIZES = {"Yes-or-No": 558, "What": 258, "How": 489}
DIMENSIONS = ("completeness", "preciseness", "consistency", "quality_accuracy")
FAMILIES = ("Intensity", "Noise", "ResolutionBlur", "Artifacts", "Motion")
AVERAGE = "Average over models"


def figures(table: PublishedTable) -> dict[str, dict[str, Decimal]]:
    return {
        row.model: {key: Decimal(printed) for key, printed in row.cells.items() if printed}
        for row in table.rows
    }


def marked(table: PublishedTable, caveat: str) -> set[Place]:
    return {
        (row.model, key)
        for row in table.rows
        for key in row.cells
        if caveat in {mark.caveat for mark in table.marks_of(row.model, key)}
    }


def weighted(row: Mapping[str, Decimal], sizes: Mapping[str, int]) -> Decimal:
    return sum((row[key] * n for key, n in sizes.items()), Decimal(0)) / sum(sizes.values())


def count_of(printed: Decimal, n: int, scale: int) -> int | None:
    """The whole number of hits (or points) over `n` that is printed like this, if there is one."""
    hits = round(printed * n / scale)
    return hits if rounded(Decimal(hits) * scale / n, like=printed) == printed else None


def rounded(value: Decimal, *, like: Decimal) -> Decimal:
    return value.quantize(like, rounding=ROUND_HALF_UP)


def check_marks(
    table: PublishedTable, wrong: Iterable[str], parts: Sequence[str], total: str
) -> None:
    """The totals of the models in `wrong` are marked, with all parts or with the suspected ones."""
    suspects = marked(table, "misprint_suspected")
    wanted: set[Place] = set()
    for model in wrong:
        wanted.add((model, total))
        if not any(name == model for name, _ in suspects):
            wanted |= {(model, part) for part in parts}
    assert marked(table, "does_not_add_up") == wanted


def test_medebench_overall_is_the_mean_over_samples() -> None:
    organs, overall = figures(TABLE["medebench-organs"]), figures(TABLE["medebench-overall"])
    wrong = set()
    for model, row in overall.items():
        for metric in ("EA", "CP", "VQ"):
            by_organ = {organ: organs[model][f"{organ}/{metric}"] for organ in ORGAN_COUNTS}
            # half a unit of the total and half a unit of every organ
            if abs(weighted(by_organ, ORGAN_COUNTS) - row[metric]) > Decimal("0.01"):
                wrong.add((model, metric))
    assert wrong == {("icedit", "EA")}
    assert marked(TABLE["medebench-overall"], "does_not_add_up") == wrong
    assert marked(TABLE["medebench-overall"], "misprint_suspected") == wrong
    assert marked(TABLE["medebench-organs"], "misprint_suspected") == set()


@pytest.mark.parametrize(("name", "n_wrong"), [("medsg-iou", 6), ("medsg-accuracy", 5)])
def test_medsg_average_is_the_mean_over_samples(name: str, n_wrong: int) -> None:
    # multi-view grounding seems to have had 1148 samples for some models and 1153 for others
    sizes = [TASK_SIZES, TASK_SIZES | {"MV": 1153}]
    wrong = [
        model
        for model, row in figures(TABLE[name]).items()
        if min(abs(weighted(row, it) - row["Avg"]) for it in sizes) > Decimal("0.01")
    ]
    assert len(wrong) == n_wrong
    check_marks(TABLE[name], wrong, tuple(TASK_SIZES), "Avg")


def test_medsg_accuracies_are_fractions_of_the_samples() -> None:
    other: set[Place] = set()
    for model, row in figures(TABLE["medsg-accuracy"]).items():
        other |= {
            (model, task) for task, n in TASK_SIZES.items() if count_of(row[task], n, 100) is None
        }
    views = {place for place in other if place[1] == "MV"}
    assert len(views) == 12
    for name in ("medsg-iou", "medsg-accuracy"):
        assert marked(TABLE[name], "denominator_unknown") == views
    assert other - views == marked(TABLE["medsg-accuracy"], "misprint_suspected")


def test_medsg_suspects_repeat_or_miss_what_their_average_asks_for() -> None:
    iou, accuracy = figures(TABLE["medsg-iou"]), figures(TABLE["medsg-accuracy"])
    assert accuracy["Gemini 2.5 Pro"]["CMG"] == iou["Gemini 2.5 Pro"]["RG"]
    assert iou["Claude Sonnet 4"]["RG"] == iou["LLaVA-OneVision-7B"]["RG"]
    least = min((row["NRDG"], model) for model, row in iou.items())
    assert least == (Decimal("0.01"), "LLaVA-OneVision-7B")
    assert marked(TABLE["medsg-iou"], "misprint_suspected") == {
        ("Claude Sonnet 4", "RG"),
        ("LLaVA-OneVision-7B", "NRDG"),
    }


def test_medq_perception_is_hits_over_questions() -> None:
    table = TABLE["medq-perception"]
    unresolved: set[Place] = set()
    wrong = []
    for model, row in figures(table).items():
        hits = {key: count_of(row[key], n, 100) for key, n in QUESTION_SIZES.items()}
        unresolved |= {(model, key) for key, found in hits.items() if found is None}
        if None in hits.values():
            if abs(weighted(row, QUESTION_SIZES) - row["Overall"]) > Decimal("0.01"):
                wrong.append(model)
        elif "Overall" in row:
            overall = Decimal(sum(it for it in hits.values() if it is not None)) * 100 / 1305
            assert rounded(overall, like=row["Overall"]) == row["Overall"], model
    assert wrong == ["GPT-4o", "Gemini-2.5-Pro"]
    assert marked(table, "denominator_unknown") == unresolved
    check_marks(table, wrong, tuple(QUESTION_SIZES), "Overall")


@pytest.mark.parametrize(("name", "n"), [("medq-description", 221), ("medq-comparison", 133)])
def test_medq_reasoning_is_points_over_rows(name: str, n: int) -> None:
    table = TABLE[name]
    rows = figures(table)
    assert marked(table, "denominator_unknown") == {
        (model, key)
        for model, row in rows.items()
        for key in DIMENSIONS
        if count_of(row[key], n, 1) is None
    }
    wrong = {
        (model, "Overall")
        for model, row in rows.items()
        if sum(row[key] for key in DIMENSIONS) != row["Overall"]
    }
    # every part of that row is an exact count of points, so only the total can be wrong
    assert wrong == ({("Grok-4", "Overall")} if n == 221 else set())
    assert marked(table, "does_not_add_up") == wrong


def test_the_gap_to_human_experts_is_the_difference() -> None:
    best = figures(TABLE["medq-perception"])["GPT-5"]["Overall"]
    human = figures(TABLE["medq-human"])["Human experts"]["Overall"]
    assert figures(TABLE["medq-human-gap"])["GPT-5"]["gap"] == human - best
    assert count_of(human, 1305, 100) is None
    assert ("Human experts", "Overall") in marked(TABLE["medq-human"], "denominator_unknown")


def test_medqdeg_differences_are_those_of_the_levels() -> None:
    table = TABLE["medqdeg-levels"]
    for row in figures(table).values():
        assert row["L1-L0"] == row["L1"] - row["L0"]
        assert row["L2-L0"] == row["L2"] - row["L0"]
    assert marked(table, "does_not_add_up") == set()


def test_medqdeg_average_over_capabilities_is_a_plain_mean() -> None:
    table = TABLE["medqdeg-capabilities"]
    parts = ("CU", "IP", "AR", "BS", "Diag", "Treat")
    for model, row in figures(table).items():
        if model != AVERAGE:
            for kind in ("", " change"):
                mean = sum(row[part + kind] for part in parts) / len(parts)
                assert abs(mean - row["Avg" + kind]) <= Decimal("0.1"), model
    assert {column for _, column in marked(table, "averaged_otherwise")} == {"Avg", "Avg change"}


def test_medqdeg_average_over_families_is_over_questions() -> None:
    table, levels = TABLE["medqdeg-families"], figures(TABLE["medqdeg-levels"])
    no_mean = 0
    for model, row in figures(table).items():
        if model == AVERAGE:
            continue
        # L1 and L2 have as many questions each
        both = (levels[model]["L1"] + levels[model]["L2"]) / 2
        assert abs(both - row["Avg"]) <= Decimal("0.055"), model
        plain = sum(row[f"{family} change"] for family in FAMILIES) / len(FAMILIES)
        change = row["Avg change"]
        of_levels = (levels[model]["L1-L0"] + levels[model]["L2-L0"]) / 2
        no_mean += abs(plain - change) > Decimal("0.1") and abs(of_levels - change) > Decimal("0.1")
    assert no_mean > 20
    assert {column for _, column in marked(table, "averaged_otherwise")} == {"Avg change"}


@pytest.mark.parametrize("name", ["medqdeg-capabilities", "medqdeg-families"])
def test_medqdeg_average_over_models(name: str) -> None:
    rows = figures(TABLE[name])
    average = rows.pop(AVERAGE)
    wrong = {
        (AVERAGE, key)
        for key, printed in average.items()
        if abs(sum(row[key] for row in rows.values()) / len(rows) - printed) > Decimal("0.1")
    }
    assert marked(TABLE[name], "does_not_add_up") == wrong != set()


def test_nothing_else_is_said_not_to_add_up() -> None:
    checked = {
        "medebench-overall", "medsg-iou", "medsg-accuracy", "medq-perception", "medq-description",
        "medqdeg-capabilities", "medqdeg-families",
    }  # fmt: skip
    assert {name for name, table in TABLE.items() if marked(table, "does_not_add_up")} == checked
    assert {name for name, table in TABLE.items() if marked(table, "misprint_suspected")} == {
        "medebench-overall", "medsg-iou", "medsg-accuracy",
    }  # fmt: skip
