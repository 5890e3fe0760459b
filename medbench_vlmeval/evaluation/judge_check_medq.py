"""MedQ-Bench's judge put to the test: its four questions about descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..data.medq import MedQData, MedQQuestion
from ..judging.medq import DIMENSIONS, SCORE, MedQTemplates, medq_calls, rubric_of
from ..predictions import read_predictions
from .judge_check_plan import (
    AS_SCORED,
    REFERENCE,
    RETEST,
    UNRELATED,
    CheckOptions,
    CheckPlan,
    Column,
    Contrast,
    Expectation,
    Limits,
    Probe,
    stratified_order,
)
from .medq_reasoning_rows import reasoning_rows
from .prepared_rows import data_facts, predictions_by_index

FACTUAL = ("completeness", "preciseness")
"""Dimensions in which the text of another case cannot be right. It may agree with itself, and its
verdict on the quality may be the right one by chance."""

_MADE_NOTE = (
    "no run was given: the descriptions judged are made by the check, by turns the reference text, "
    "its first half, and the reference text of another case"
)


def replies_of_run(predictions: Path, data: MedQData) -> dict[int, str]:
    """The descriptions of a run that can be judged, by index.

    Raises:
        ValueError: a prediction file that cannot be used, or one without any text to judge.
    """
    indices = [sample.index for sample in data.samples]
    replies, _ = predictions_by_index(read_predictions(predictions), indices)
    rows = reasoning_rows(data.samples, replies)
    found = {row.sample.index: row.reply for row in rows if row.can_be_judged and row.reply}
    if not found:
        raise ValueError(
            f"{predictions}: expected descriptions of {data.name}, got none; give the predictions "
            "of a run on these data, or leave them out"
        )
    return found


def medq_plan(
    data: MedQData,
    replies: Mapping[int, str] | None,
    templates: MedQTemplates,
    options: CheckOptions,
) -> CheckPlan:
    """The questions about a stratified choice of descriptions, by modality.

    Args:
        data: a table of descriptions of images or pairs.
        replies: a model's descriptions by index; None: some are made, see `CheckPlan.notes`.
        templates: the judge's questions, of the kind of `data`.
        options: how many, and which checks; there is no order and no format of images.

    Raises:
        ValueError: no description can be judged, or templates of another kind.
    """
    described = [it for it in data.samples if (it.description or "").strip()]
    usable = [it for it in described if replies is None or it.index in replies]
    chosen = stratified_order(usable, lambda it: it.modality, options.seed)[: options.samples]
    if not chosen:
        raise ValueError(
            f"expected a description of {data.name} with a reference text, got none; give the "
            "predictions of a run, or leave them out"
        )
    groups = [
        tuple(_probes(sample, described, replies, templates, options.checks, turn=turn))
        for turn, sample in enumerate(chosen)
    ]
    notes = [note for note in (_MADE_NOTE if replies is None else "", templates.note) if note]
    if len(chosen) < options.samples:
        notes.append(
            f"{len(chosen)} samples can be judged, fewer than the {options.samples} asked for"
        )
    is_sane = "sanity" in options.checks
    return CheckPlan(
        "MedQ-Bench reasoning",
        tuple(groups),
        tuple(Column(name, rubric_of(data.kind, name).high) for name in DIMENSIONS),
        _expectations(data.kind, options.limits) if is_sane else (),
        _contrasts() if is_sane else (),
        facts={"data": data_facts(data, len(chosen)), "prompts": templates.record()},
        notes=tuple(notes),
    )


def _probes(
    sample: MedQQuestion,
    described: Sequence[MedQQuestion],
    replies: Mapping[int, str] | None,
    templates: MedQTemplates,
    checks: Sequence[str],
    *,
    turn: int,
) -> Iterator[Probe]:
    reference = sample.description or ""
    other = _unrelated(sample, described)
    reply, shown = _reply(sample, replies, other, turn)
    yield from _four(sample, AS_SCORED, reply, shown, templates)
    if "retest" in checks:
        yield from _four(sample, RETEST, reply, shown, templates)
    if "sanity" in checks:
        yield from _four(sample, REFERENCE, reference, "the reference text", templates)
        if other is not None:
            shown_other = f"the reference text of case {other.index}"
            yield from _four(sample, UNRELATED, other.description or "", shown_other, templates)


def _four(
    sample: MedQQuestion, kind: str, text: str, shown: str, templates: MedQTemplates
) -> Iterator[Probe]:
    key = f"{sample.index}/{kind}"
    labels = {"modality": sample.modality, "level": sample.level}
    reference = sample.description or ""
    calls = medq_calls(key, templates.kind, text, reference, labels, templates)
    for dimension, call in zip(DIMENSIONS, calls, strict=True):
        asked = replace(call, repeat=int(kind == RETEST))
        yield Probe(kind, str(sample.index), sample.case, asked, {SCORE: dimension}, shown)


def _reply(
    sample: MedQQuestion,
    replies: Mapping[int, str] | None,
    other: MedQQuestion | None,
    turn: int,
) -> tuple[str, str]:
    if replies is not None:
        return replies[sample.index], "the model's description"
    reference = sample.description or ""
    if turn % 3 == 1:
        words = reference.split()
        return " ".join(words[: (len(words) + 1) // 2]), "the first half of the reference text"
    if turn % 3 == 2 and other is not None:
        return other.description or "", f"the reference text of case {other.index}"
    return reference, "the reference text"


def _unrelated(sample: MedQQuestion, described: Sequence[MedQQuestion]) -> MedQQuestion | None:
    """The next case with another text, of another modality where there is one."""
    position = described.index(sample)
    others = [
        it
        for it in (*described[position + 1 :], *described[:position])
        if it.case != sample.case and it.description != sample.description
    ]
    elsewhere = (it for it in others if it.modality != sample.modality)
    return next(elsewhere, others[0] if others else None)


def _expectations(kind: str, limits: Limits) -> tuple[Expectation, ...]:
    def limit(dimension: str, share: float) -> float:
        return share * rubric_of(kind, dimension).high

    perfect = "the reference text as description"
    unrelated = "the reference text of another case as description"
    return (
        *(Expectation(REFERENCE, it, limit(it, limits.high), True, perfect) for it in DIMENSIONS),
        *(Expectation(UNRELATED, it, limit(it, limits.low), False, unrelated) for it in FACTUAL),
    )


def _contrasts() -> tuple[Contrast, ...]:
    text = "the reference text and that of another case"
    return tuple(Contrast(it, REFERENCE, UNRELATED, text) for it in FACTUAL)
