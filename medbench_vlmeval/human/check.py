"""What the raters say beside what the judge says: how far they agree, and about what not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from .entries import Entries, Entry, Problem
from .key import RatedAnswer, SheetKey
from .model_order import ModelOrder, model_order
from .reliability import Agreement, Measure, agreement, rank_correlation
from .rubrics import Dimension

ALL_RATERS = "mean of raters"
JUDGE = "judge"


@dataclass(frozen=True)
class AgreementRow:
    """How far two agree about one dimension."""

    dimension: str
    first: str
    """A rater, or `ALL_RATERS`."""
    second: str
    """`JUDGE`, or another rater."""
    agreement: Agreement


@dataclass(frozen=True)
class ComputedRow:
    """How a column that needs no judge goes with the raters."""

    dimension: str
    rater: str
    column: str
    spearman: Measure


@dataclass(frozen=True)
class RaterCounts:
    """What one rater gave."""

    items: int
    rated: int
    """Items with at least one rating that can be used."""
    cannot_judge: int


@dataclass(frozen=True)
class Remark:
    """A rater's comment, with the item unblinded."""

    rater: str
    item: int
    model: str
    index: int
    text: str


@dataclass(frozen=True)
class HumanCheck:
    """Everything that a sheet gave."""

    sheet: str
    dataset: str
    rubric: str
    models: Sequence[str]
    judges: Sequence[str]
    settings: Mapping[str, Any]
    raters: Mapping[str, RaterCounts]
    with_judge: Sequence[AgreementRow]
    between_raters: Sequence[AgreementRow]
    with_computed: Sequence[ComputedRow]
    orders: Sequence[ModelOrder]
    remarks: Sequence[Remark]
    problems: Sequence[Problem]
    warnings: Sequence[str]


@dataclass(frozen=True)
class Ratings:
    """Usable ratings of one rater, or their means, by position of the answer."""

    rater: str
    of: Mapping[str, Mapping[int, float]]
    """Dimension to answer to rating."""
    averaged: bool = False


def human_check(found: Entries) -> HumanCheck:
    """The outcome of the tables that came back."""
    key = found.key
    by_rater = _by_rater(found.entries, key)
    everyone = _averaged(by_rater, key)
    columns = [*by_rater, everyone] if len(by_rater) > 1 else by_rater
    return HumanCheck(
        sheet=key.sheet,
        dataset=key.dataset,
        rubric=key.rubric.name,
        models=key.models,
        judges=key.judges,
        settings=key.settings,
        raters=_counts(found.entries, key),
        with_judge=[
            _with_judge(rated, dimension, key)
            for dimension in key.rubric.dimensions
            for rated in columns
        ],
        between_raters=list(_between(by_rater, key)),
        with_computed=list(_with_computed(everyone, key)),
        orders=[model_order(it.name, everyone.of[it.name], key) for it in key.rubric.dimensions],
        remarks=_remarks(found.entries, key),
        problems=found.problems,
        warnings=[*key.changed_files(), *key.judge_warnings],
    )


def _by_rater(entries: Sequence[Entry], key: SheetKey) -> list[Ratings]:
    ratings = []
    for rater in key.raters:
        own = [entry for entry in entries if entry.rater == rater]
        if own:
            of = {
                name: {it.answer: it.ratings[name] for it in own if name in it.ratings}
                for name in key.rubric.names
            }
            ratings.append(Ratings(rater, of))
    return ratings


def _averaged(by_rater: Sequence[Ratings], key: SheetKey) -> Ratings:
    of: dict[str, dict[int, float]] = {}
    for name in key.rubric.names:
        given: dict[int, list[float]] = {}
        for rated in by_rater:
            for answer, grade in rated.of[name].items():
                given.setdefault(answer, []).append(grade)
        of[name] = {answer: fmean(grades) for answer, grades in sorted(given.items())}
    several = len(by_rater) > 1
    rater = ALL_RATERS if several else next((it.rater for it in by_rater), ALL_RATERS)
    return Ratings(rater, of, averaged=several)


def _with_judge(rated: Ratings, dimension: Dimension, key: SheetKey) -> AgreementRow:
    judged = {
        answer: verdict
        for answer, it in enumerate(key.answers)
        if (verdict := it.verdicts[dimension.name]) is not None
    }
    found = _over_both(rated.of[dimension.name], judged, key, dimension, (rated.rater, "the judge"))
    if not judged:
        found = _not_judged(found)
    return AgreementRow(dimension.name, rated.rater, JUDGE, found)


def _not_judged(found: Agreement) -> Agreement:
    none = Measure(None, why="the runs were not judged")
    return Agreement(found.n, found.n_clusters, none, none, none, none, none)


def _over_both(
    first: Mapping[int, float],
    second: Mapping[int, float],
    key: SheetKey,
    dimension: Dimension,
    names: tuple[str, str],
) -> Agreement:
    both = sorted(first.keys() & second.keys())
    return agreement(
        [first[answer] for answer in both],
        [second[answer] for answer in both],
        [key.clusters[key.answers[answer].index] for answer in both],
        step=dimension.step,
        averaged=names[0] == ALL_RATERS,
        names=names,
    )


def _between(by_rater: Sequence[Ratings], key: SheetKey) -> Iterator[AgreementRow]:
    for dimension in key.rubric.dimensions:
        for a, b in combinations(by_rater, 2):
            first, second = a.of[dimension.name], b.of[dimension.name]
            found = _over_both(first, second, key, dimension, (a.rater, b.rater))
            yield AgreementRow(dimension.name, a.rater, b.rater, found)


def _with_computed(everyone: Ratings, key: SheetKey) -> Iterator[ComputedRow]:
    for dimension in key.rubric.dimensions:
        rated = everyone.of[dimension.name]
        for column in dimension.computed:
            values = {answer: it.computed[column] for answer, it in enumerate(key.answers)}
            both = [answer for answer in rated if values[answer] is not None]
            found = rank_correlation(
                [rated[answer] for answer in both],
                [values[answer] or 0.0 for answer in both],
                (everyone.rater, column),
            )
            yield ComputedRow(dimension.name, everyone.rater, column, found)


def _counts(entries: Sequence[Entry], key: SheetKey) -> dict[str, RaterCounts]:
    counts = {}
    for rater, items in key.raters.items():
        own = [entry for entry in entries if entry.rater == rater]
        rated, unable = sum(bool(it.ratings) for it in own), sum(it.cannot_judge for it in own)
        counts[rater] = RaterCounts(len(items), rated, unable)
    return counts


def _remarks(entries: Sequence[Entry], key: SheetKey) -> list[Remark]:
    def remark(entry: Entry, answer: RatedAnswer) -> Remark:
        model = key.models[answer.run]
        return Remark(entry.rater, entry.item, model, answer.index, entry.comment)

    return [remark(entry, key.answers[entry.answer]) for entry in entries if entry.comment]
