from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.stats import pearsonr, spearmanr

from medbench_vlmeval.files import to_plain
from medbench_vlmeval.human.check import ALL_RATERS, HumanCheck, human_check
from medbench_vlmeval.human.entries import Entries
from medbench_vlmeval.human.key import SheetKey
from medbench_vlmeval.human.page import page, short_lines, write_check
from medbench_vlmeval.metrics import quadratic_weighted_kappa

from .made import MODELS, Cells, edit_run, exported, filled, told, varied, write_rows

Rating = Callable[[int, str, float], float]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def key(tmp_path: Path, out: Path) -> SheetKey:
    runs = [edit_run(tmp_path, model, varied(n)) for n, model in enumerate(MODELS)]
    return exported(out, runs, raters=("A", "B"))


def checked(key: SheetKey, tmp_path: Path, **tables: list[Cells]) -> HumanCheck:
    paths = [write_rows(tmp_path / f"{name}.csv", rows) for name, rows in tables.items()]
    return human_check(Entries.read(paths, key))


def shifted(answer: int, name: str, verdict: float) -> float:
    return max(0.0, min(10.0, verdict + (-2, 0, 1)[answer % 3]))


def test_ratings_that_are_the_judges_agree_wholly(key: SheetKey, out: Path, tmp_path: Path) -> None:
    found = checked(key, tmp_path, A=filled(out, key))
    assert [row.dimension for row in found.with_judge] == ["EA", "CP", "VQ"]
    for row in found.with_judge:
        assert (row.first, row.second, row.agreement.n) == ("A", "judge", 36)
        assert row.agreement.n_clusters == 6
        assert row.agreement.kappa.value == pytest.approx(1.0)
        assert row.agreement.exact.value == 1.0
    assert all(order.verdict == "same order" for order in found.orders)
    assert all(order.within_samples.value == pytest.approx(1.0) for order in found.orders)
    assert found.between_raters == []


def test_every_number_is_that_of_the_unblinded_columns(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    found = checked(key, tmp_path, A=filled(out, key, shifted))
    verdicts = [answer.verdicts["EA"] for answer in key.answers]
    given = [shifted(n, "EA", verdict) for n, verdict in enumerate(verdicts)]
    row = found.with_judge[0].agreement
    assert row.kappa.value == pytest.approx(quadratic_weighted_kappa(given, verdicts))
    assert row.spearman.value == pytest.approx(spearmanr(given, verdicts).statistic)
    apart = [abs(a - b) for a, b in zip(given, verdicts, strict=True)]
    assert row.within_one.value == pytest.approx(sum(it <= 1 for it in apart) / 36)
    assert row.mean_difference.value == pytest.approx((sum(given) - sum(verdicts)) / 36)


def test_raters_are_compared_by_answer_and_not_by_item(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    found = checked(key, tmp_path, A=filled(out, key), B=filled(out, key, shifted, rater="B"))
    assert [(it.first, it.second) for it in found.between_raters] == [("A", "B")] * 3
    with_judge = {row.first: row.agreement for row in found.with_judge if row.dimension == "EA"}
    assert list(with_judge) == ["A", "B", ALL_RATERS]
    between = found.between_raters[0].agreement
    assert between.kappa.value == pytest.approx(with_judge["B"].kappa.value)
    assert between.mean_difference.value == pytest.approx(
        -(with_judge["B"].mean_difference.value or 0)
    )
    assert with_judge[ALL_RATERS].mean_difference.value == pytest.approx(
        (with_judge["B"].mean_difference.value or 0) / 2
    )
    assert with_judge[ALL_RATERS].exact.value is None


def test_a_constant_rater_gets_a_reason(key: SheetKey, out: Path, tmp_path: Path) -> None:
    found = checked(key, tmp_path, A=filled(out, key, lambda *_: 7))
    for row in found.with_judge:
        assert row.agreement.kappa.value is None
        assert row.agreement.kappa.why == "A gave 7 to every item"
    for order in found.orders:
        assert order.pearson.why == "all models have the same mean"
        assert order.within_samples.why == "in no sample do both tell the models apart"
        assert len(order.tied) == 3
        assert order.verdict == "all models tied by the raters"
    text = page(found)
    assert "A gave 7 to every item" in text
    assert "kappa undefined (A gave 7 to every item)" in "\n".join(short_lines(found))


def test_means_and_order_are_over_samples_that_all_models_have(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key, shifted)
    lost = key.answers[key.raters["A"][0].answer].index
    rows[0]["EA"] = ""
    found = checked(key, tmp_path, A=rows)
    order = found.orders[0]
    assert order.n_samples == 11
    for mean in order.means:
        own = [
            (shifted(n, "EA", it.verdicts["EA"] or 0), it.verdicts["EA"] or 0)
            for n, it in enumerate(key.answers)
            if key.models[it.run] == mean.model and it.index != lost
        ]
        assert mean.human == pytest.approx(sum(a for a, _ in own) / 11)
        assert mean.judge == pytest.approx(sum(b for _, b in own) / 11)
    human, judge = [it.human for it in order.means], [it.judge for it in order.means]
    assert human == sorted(human, reverse=True)
    assert order.pearson.value == pytest.approx(pearsonr(human, judge).statistic)


def test_models_in_another_order_are_named(tmp_path: Path, out: Path) -> None:
    levels = {"AlphaEdit": 8.0, "BetaPaint": 5.0, "GammaPix": 5.0}
    runs = [edit_run(tmp_path, it, lambda *_, v=level: v) for it, level in levels.items()]
    key = exported(out, runs)
    by_raters = {"AlphaEdit": 4, "BetaPaint": 6, "GammaPix": 2}
    rows = filled(out, key, lambda answer, *_: by_raters[key.models[key.answers[answer].run]])
    order = checked(key, tmp_path, A=rows).orders[0]
    assert [it.model for it in order.means] == ["BetaPaint", "AlphaEdit", "GammaPix"]
    assert order.swapped == (("BetaPaint", "AlphaEdit"),)
    assert order.tied == (("BetaPaint", "GammaPix"),)
    assert order.verdict == "BetaPaint and AlphaEdit swapped; BetaPaint and GammaPix tied"
    # ranks of the judge 3, 1.5, 1.5 against 2, 3, 1: no correlation in any sample
    assert order.within_samples.value == pytest.approx(0.0, abs=1e-12)
    assert order.within_samples.n == 12


def test_a_judge_that_ties_everything_is_said_so_once(tmp_path: Path, out: Path) -> None:
    key = exported(out, [edit_run(tmp_path, it, lambda *_: 10.0) for it in MODELS])
    orders = checked(key, tmp_path, A=filled(out, key, lambda answer, *_: answer % 7)).orders
    assert orders[0].verdict == "all models tied by the judge"
    orders = checked(key, tmp_path, A=filled(out, key, lambda *_: 3)).orders
    assert orders[0].verdict == "all models tied by the raters and the judge"


@pytest.mark.parametrize(
    ("n_models", "verdict", "why"),
    [(1, "one model has no order", "needs 3 models"), (2, "same order", "needs 3 models")],
)
def test_few_models_have_no_correlation(
    tmp_path: Path, out: Path, n_models: int, verdict: str, why: str
) -> None:
    runs = [
        edit_run(tmp_path, MODELS[n], lambda sample, d, n=n: float(n + sample % 3))
        for n in range(n_models)
    ]
    key = exported(out, runs)
    order = checked(key, tmp_path, A=filled(out, key)).orders[0]
    assert (order.verdict, order.pearson.why, order.within_samples.why) == (verdict, why, why)


def test_runs_without_a_judge_still_give_the_raters_side(tmp_path: Path, out: Path) -> None:
    runs = [edit_run(tmp_path, it, lambda *_: None, judge=None) for it in MODELS]
    key = exported(out, runs, raters=("A", "B"))
    varied_by_answer: Rating = lambda answer, *_: answer % 7  # noqa: E731
    tables = {it: filled(out, key, varied_by_answer, rater=it) for it in "AB"}
    found = checked(key, tmp_path, **tables)
    for row in found.with_judge:
        assert (row.agreement.kappa.value, row.agreement.kappa.why) == (
            None,
            "the runs were not judged",
        )
    assert found.between_raters[0].agreement.kappa.value == pytest.approx(1.0)
    assert found.judges == []
    assert "AlphaEdit was not judged, only the raters' side is known" in page(found)


def test_items_without_a_verdict_are_left_out_of_that_dimension(tmp_path: Path, out: Path) -> None:
    base = varied(3)
    run = edit_run(
        tmp_path, "M", lambda sample, d: None if d == 0 and sample < 4 else base(sample, d)
    )
    key = exported(out, [run])
    found = checked(key, tmp_path, A=filled(out, key))
    assert [row.agreement.n for row in found.with_judge] == [8, 12, 12]


def test_columns_without_a_judge_are_held_against_their_dimension(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key, lambda answer, *_: float(key.answers[answer].index % 11))
    found = checked(key, tmp_path, A=rows)
    by_column = {row.column: row.spearman for row in found.with_computed}
    index = [answer.index for answer in key.answers]
    expected = spearmanr([it % 11 for it in index], index).statistic
    assert by_column["CP"].value == pytest.approx(expected)
    assert by_column["PSNR_outside"].why == "no items rated by both"


def test_the_outcome_is_written_and_texts_of_raters_stay_texts(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key, shifted)
    rows[0]["comment"] = "<script>alert(1)</script> | **bold**\nnext"
    rows[1]["EA"] = "<b>9</b>"
    found = checked(key, tmp_path, A=rows)
    as_json, as_page = write_check(out, found)
    assert told(as_json) == to_plain(found)
    text = as_page.read_text(encoding="utf-8")
    assert text == page(found)
    assert "<script>" not in text
    assert "<b>" not in text
    assert f"{key.answers[key.raters['A'][0].answer].index} |" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    assert sorted(path.name for path in out.iterdir()) == [
        "for_raters",
        "human_check.json",
        "human_check.md",
        "key.json",
    ]


def test_every_problem_is_in_the_page_and_the_first_on_the_terminal(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key)
    for row in rows:
        row["EA"] = "11"
    found = checked(key, tmp_path, A=rows)
    assert page(found).count("got '11'") == 36
    lines = list(short_lines(found, most=5))
    assert sum("got '11'" in line for line in lines) == 5
    assert lines[-1] == "  and 32 more, all in the page"


def test_a_run_that_was_evaluated_again_is_a_warning(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    path = next(Path(it) for it in key.runs[0]["files"] if it.endswith("_scores.jsonl"))
    path.write_text(path.read_text() + "\n", encoding="utf-8")
    found = checked(key, tmp_path, A=filled(out, key))
    assert found.with_judge[0].agreement.kappa.value == pytest.approx(1.0)
    assert "changed since the sheets were made" in found.warnings[0]
