"""The published reasoning tables, out of points that give them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.evaluation.medq_reasoning_judge import judged_scores
from medbench_vlmeval.evaluation.medq_reasoning_metrics import QUALITY_READ
from medbench_vlmeval.evaluation.medq_reasoning_rows import ReasoningRow
from medbench_vlmeval.evaluation.medq_reasoning_summary import summarise_reasoning
from medbench_vlmeval.judging import Verdict
from medbench_vlmeval.judging.medq import DIMENSIONS
from medbench_vlmeval.parsing import read_scores
from medbench_vlmeval.types import Score, Status, Summary

from ..shared import ROOT, shared_path
from .medq_reasoning_cases import question

TABLES = ("no_reference_reasoning_test", "comparative_reasoning_test")


def published_rows() -> list[Any]:
    path = ROOT / "data" / "medq_tables.json"
    if not path.exists():
        shared = pytest.param("", {}, 0, id="absent")
        return [shared]
    tables = json.loads(path.read_text(encoding="utf-8"))
    return [
        pytest.param(table, row, tables[table]["derived_N"], id=f"{table[:11]}-{row['model']}")
        for table in TABLES
        for row in tables[table]["rows"]
    ]


def verdict(points: int | None) -> Verdict:
    reply = "" if points is None else f"Score: {points}"
    reading = read_scores(reply, ("Score",), low=0, high=2, allowed=(0, 1, 2))
    failed = points is None
    return Verdict(
        key="",
        reading=None if failed else reading,
        status=Status.API_FAIL if failed else reading.status,
        note="",
        reply=reply,
        first_reply=reply,
        call_id="",
        model_requested="",
        model_returned="",
        finish_reason="",
        prompt_tokens=None,
        completion_tokens=None,
        cost=None,
        cached=False,
        attempts=1,
    )


def spread(total: int, n: int, unit: int = 1) -> list[int | None]:
    """`n` scores of `unit` steps with this sum, as even as can be."""
    each, more = divmod(total // unit, n)
    return [unit * (each + (number < more)) for number in range(n)]


def points_of(table: str, row: dict[str, Any], n: int, dimension: str) -> list[int | None]:
    total = row["derived"]["point_totals"][dimension]
    is_verdict_on_pair = table.startswith("comparative") and dimension == "quality_accuracy"
    if total is None:
        # 1.562 is no fraction of 133; it is one of 128, as if five judgements had been dropped.
        return [*spread(200, 128, 2), *[None] * 5]
    return spread(total, n, 2 if is_verdict_on_pair else 1)


def summaries(columns: Sequence[Sequence[int | None]], folder: Path) -> dict[str, Summary]:
    sample = question(folder, 1)
    unread = {QUALITY_READ.name: Score.unscored(Status.DATA_ERROR)}
    rows = []
    for points in zip(*columns, strict=True):
        verdicts = dict(zip(DIMENSIONS, map(verdict, points), strict=True))
        row = ReasoningRow(sample, "text", True, Status.ANSWER)
        rows.append(row.with_scores(judged_scores(verdicts) | unread))
    found = summarise_reasoning(rows)
    return {summary.metric: summary for summary in found if summary.group_by == "overall"}


@pytest.mark.parametrize(("table", "row", "n"), published_rows())
def test_the_sum_of_the_means_is_the_published_overall(
    table: str, row: dict[str, Any], n: int, tmp_path: Path
) -> None:
    shared_path("data/medq_tables.json")
    columns = [points_of(table, row, n, dimension) for dimension in DIMENSIONS]
    found = summaries(columns, tmp_path)
    for dimension in DIMENSIONS:
        if row["derived"]["point_totals"][dimension] is not None:
            value = found[dimension].value
            assert value is not None
            assert round(value, 3) == row[dimension]
            assert found[f"{dimension}_strict"].value == value
    overall = found["Overall"].value
    assert overall is not None
    # One published sum is off by one in the last figure.
    assert round(overall, 3) == pytest.approx(row["overall"], abs=0.001 + 1e-9)
    assert overall == pytest.approx(sum(found[d].value or 0.0 for d in DIMENSIONS))


def test_five_dropped_judgements_leave_the_sum_of_the_means(tmp_path: Path) -> None:
    quality = [*spread(200, 128, 2), *[None] * 5]
    found = summaries([spread(t, 133) for t in (147, 188, 217)] + [quality], tmp_path)
    assert found["quality_accuracy"].value == 200 / 128
    assert found["Overall"].value == pytest.approx((147 + 188 + 217) / 133 + 200 / 128)
    assert (found["Overall"].n_scored, found["Overall"].n_expected) == (128, 133)
