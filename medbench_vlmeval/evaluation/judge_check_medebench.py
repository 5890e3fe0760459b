"""MedEBench's judge put to the test: its questions about edited images, asked in several ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data import MedEBenchData, MedEBenchSample
from ..editing import EditStore
from ..images import ImageUnreadable
from ..judging import JudgeCall
from ..judging.medebench import (
    PUBLISHED_ORDER,
    RUBRIC,
    Layout,
    Role,
    medebench_call,
    medebench_prompt_sha256,
)
from .edited_rows import collect_rows
from .judge_check_medebench_expected import readings
from .judge_check_pictures import JPEG_QUALITY, Pictures
from .judge_check_plan import (
    AS_JPEG,
    AS_PNG,
    AS_SCORED,
    BLANK,
    INPUT,
    OTHER_ORDER,
    REFERENCE,
    RETEST,
    CheckOptions,
    CheckPlan,
    Column,
    Probe,
    stratified_order,
)
from .judged_edits import ACCURACY, CONTEXT, QUALITY
from .options import EvaluationOptions
from .prepared_rows import data_facts

OTHER_IMAGE_ORDER: tuple[Role, ...] = ("edited", "reference", "previous")
COLUMNS = {ACCURACY: "EA", CONTEXT: "CP_judged", QUALITY: "VQ"}

_MADE_NOTE = (
    "no run was given: the edits judged are made by the check, by turns the ground truth, the "
    "ground truth blurred, and the input"
)


@dataclass(frozen=True)
class _Edit:
    """The edited image of a sample, and what it is."""

    path: Path
    shown: str


def edits_of_run(predictions: Path, data: MedEBenchData) -> dict[int, Path]:
    """The edited images of a run by id of sample; those that are gone are left out.

    Raises:
        ValueError: a prediction file that cannot be used, or one without any image.
    """
    kept = EvaluationOptions(lost_images="missing")
    rows, _ = collect_rows(predictions, data.samples, EditStore.default(), kept)
    edits = {row.sample.id: row.edited.path for row in rows if row.edited.path is not None}
    if not edits:
        raise ValueError(
            f"{predictions}: expected edited images of {data.name}, got none; give the predictions "
            "of a run on these data, or leave them out"
        )
    return edits


def medebench_plan(
    data: MedEBenchData,
    edits: Mapping[int, Path] | None,
    folder: Path,
    options: CheckOptions,
    *,
    layout: Layout = "separate",
) -> CheckPlan:
    """The questions about a stratified choice of edits, by organ.

    Args:
        data: the prepared benchmark.
        edits: edited images by id of sample; None: edits are made, see `CheckPlan.notes`.
        folder: for the pictures that are made.
        options: how many, and which checks.
        layout: as the judge is asked otherwise.

    Raises:
        ValueError: no sample can be judged.
    """
    groups, unreadable = _groups(data, edits, Pictures(folder), options, layout)
    if not groups:
        raise ValueError(
            f"expected an edit of {data.name} with input, ground truth and description, got none; "
            "give the predictions of a run with images, or leave them out"
        )
    return CheckPlan(
        "MedEBench",
        tuple(groups),
        tuple(Column(name, RUBRIC.high) for name in COLUMNS.values()),
        *readings(options.checks, options.limits),
        facts={
            "data": data_facts(data, len(groups)),
            "prompt_sha256": medebench_prompt_sha256(layout),
            "layout": layout,
            "other_order": OTHER_IMAGE_ORDER,
            "jpeg_quality": JPEG_QUALITY,
        },
        notes=_notes(edits, unreadable, groups, options.samples),
    )


def _groups(
    data: MedEBenchData,
    edits: Mapping[int, Path] | None,
    pictures: Pictures,
    options: CheckOptions,
    layout: Layout,
) -> tuple[list[tuple[Probe, ...]], list[str]]:
    """The probes of the samples drawn, and the samples passed over as they cannot be read."""
    usable = [it for it in data.samples if _can_be_judged(it) and (edits is None or it.id in edits)]
    groups: list[tuple[Probe, ...]] = []
    unreadable: list[str] = []
    for sample in stratified_order(usable, lambda it: it.organ, options.seed):
        if len(groups) == options.samples:
            break
        try:
            edit = _edit(sample, edits, pictures, turn=len(groups))
            groups.append(tuple(_probes(sample, edit, pictures, options.checks, layout)))
        except ImageUnreadable:
            unreadable.append(str(sample.id))
    return groups, unreadable


def _can_be_judged(sample: MedEBenchSample) -> bool:
    # Where input and ground truth are one file, no score can be right for both.
    return (
        None not in (sample.previous, sample.reference)
        and bool(sample.description.strip())
        and sample.sha256.get("previous") != sample.sha256.get("reference")
    )


def _edit(
    sample: MedEBenchSample, edits: Mapping[int, Path] | None, pictures: Pictures, *, turn: int
) -> _Edit:
    previous, reference = _images(sample)
    if edits is not None:
        return _Edit(edits[sample.id], "the model's edit")
    if turn % 3 == 0:
        return _Edit(reference, "the ground truth")
    if turn % 3 == 1:
        return _Edit(pictures.blurred(str(sample.id), reference), "the ground truth, blurred")
    return _Edit(previous, "the input")


def _images(sample: MedEBenchSample) -> tuple[Path, Path]:
    if sample.previous is None or sample.reference is None:
        raise TypeError(f"expected a sample with input and ground truth, got {sample.id}")
    return sample.previous, sample.reference


def _probes(
    sample: MedEBenchSample,
    edit: _Edit,
    pictures: Pictures,
    checks: Sequence[str],
    layout: Layout,
) -> Iterator[Probe]:
    previous, reference = _images(sample)
    name = str(sample.id)

    def probe(
        kind: str, path: Path, shown: str, *, order: Sequence[Role] = PUBLISHED_ORDER
    ) -> Probe:
        call = _call(sample, f"{name}/{kind}", path, order, layout, repeat=int(kind == RETEST))
        cluster = sample.sha256.get("previous", f"sample {name}")
        return Probe(kind, name, cluster, call, COLUMNS, shown)

    png, jpeg = pictures.in_both_formats(name, edit.path)
    yield probe(AS_SCORED, edit.path, edit.shown)
    if "retest" in checks:
        yield probe(RETEST, edit.path, edit.shown)
    if "sanity" in checks:
        yield probe(REFERENCE, reference, "the ground truth")
        yield probe(INPUT, previous, "the input")
        yield probe(BLANK, pictures.blank(name, previous), "a blank picture")
    if "order" in checks:
        yield probe(OTHER_ORDER, edit.path, edit.shown, order=OTHER_IMAGE_ORDER)
    if "format" in checks:
        yield probe(AS_PNG, png, f"{edit.shown}, as PNG")
        yield probe(AS_JPEG, jpeg, f"{edit.shown}, as JPEG")


def _call(
    sample: MedEBenchSample,
    key: str,
    edited: Path,
    order: Sequence[Role],
    layout: Layout,
    *,
    repeat: int,
) -> JudgeCall:
    previous, reference = _images(sample)
    labels = {"organ": sample.organ, "task": sample.task}
    call = medebench_call(
        key,
        sample.description,
        previous,
        reference,
        edited,
        labels,
        layout=layout,
        order=order,
    )
    return replace(call, repeat=repeat)


def _notes(
    edits: Mapping[int, Path] | None,
    unreadable: Sequence[str],
    groups: Sequence[Sequence[Probe]],
    wanted: int,
) -> tuple[str, ...]:
    notes = [_MADE_NOTE] if edits is None else []
    if unreadable:
        notes.append(
            f"samples with an image that cannot be read, left out: {', '.join(unreadable)}"
        )
    if len(groups) < wanted:
        notes.append(f"{len(groups)} samples can be judged, fewer than the {wanted} asked for")
    return tuple(notes)
