"""Rows of an editing benchmark: a sample, one model's edited image, and judge-free scores."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..data import MedEBenchSample
from ..editing import EditCollector, EditedImage, EditsLost, EditStore
from ..judging import Verdict
from ..predictions import read_predictions
from ..types import Score, Status
from .edit_scoring import EditOutcome, EditTask, score_edits
from .fan_out import map_chunks
from .medebench_metrics import METRICS, SEED_METRICS
from .options import EvaluationOptions
from .prepared_rows import predictions_by_index
from .seeds import SeedScores, seed_spread

logger = logging.getLogger(__name__)

_JUDGE_FREE = tuple(metric.name for metric in METRICS if not metric.judged)


@dataclass(frozen=True)
class EditedSample:
    """One sample, the edited image that one model gave for it, and its scores."""

    sample: MedEBenchSample
    edited: EditedImage
    prediction: str | None
    scores: Mapping[str, Score] = field(default_factory=dict)
    verdict: Verdict | None = None
    flags: frozenset[str] = frozenset()
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[SeedScores, ...] = ()
    """Each image made for the sample, the scored one first; empty when only one was asked for."""
    demonstrations: tuple[int, ...] | None = None
    """Ids of the samples shown as examples; None when the run shows none to anybody."""

    @property
    def cluster(self) -> str:
        """Samples of one source image belong together."""
        return self.sample.sha256.get("previous", f"sample {self.sample.id}")

    @property
    def is_readable(self) -> bool:
        """There is an edited image, and it could be decoded."""
        return self.edited.path is not None and not self.scores["PSNR_outside"].model_fault

    @property
    def absence(self) -> Score:
        """The score of every column when the model gave no usable image."""
        unreadable = self.scores.get("PSNR_outside")
        if unreadable is not None and unreadable.model_fault:
            return unreadable
        return Score.unanswered(self.edited.status, self.edited.note)

    def with_scores(self, scores: Mapping[str, Score]) -> EditedSample:
        return replace(self, scores={**self.scores, **scores})


def collect_rows(
    path: Path, samples: Sequence[MedEBenchSample], store: EditStore, options: EvaluationOptions
) -> tuple[list[EditedSample], tuple[str, ...]]:
    predictions, warnings = predictions_by_index(
        read_predictions(path), [sample.id for sample in samples]
    )
    collector = EditCollector(path, store)
    rows = [
        EditedSample(
            sample, collector.collect(predictions.get(sample.id)), predictions.get(sample.id)
        )
        for sample in tqdm(
            samples, desc="Collecting edits", unit="sample", disable=len(samples) < 50
        )
    ]
    lost = [row.sample.id for row in rows if row.edited.lost]
    if lost and options.lost_images == "raise":
        shown = ", ".join(map(str, lost[:10])) + (" …" if len(lost) > 10 else "")
        raise EditsLost(
            f"{path.name}: {len(lost)} of {len(rows)} edited images are gone (samples {shown}); "
            f"they are neither in {collector.folder.name}/ nor in the store {store.root}. "
            f"Restore one of the two, or make just these again (`medbench repair {path}`, then "
            "--reuse), "
            'or count them as missing: --judge-args \'{"medbench_lost_images": "missing"}\''
        )
    collector.write_index((row.sample.id, row.edited) for row in rows)
    for warning in warnings:
        logger.warning("%s", warning)
    return rows, warnings


def score_rows(
    runs: Sequence[Sequence[EditedSample]],
    samples: Sequence[MedEBenchSample],
    options: EvaluationOptions,
) -> list[list[EditedSample]]:
    """The rows of every run with their judge-free scores.

    All images of a sample, of every run and seed, are scored in one go, so that its input and ROI
    are decoded once.
    """
    tasks = [
        EditTask(
            _text(sample.previous),
            _text(sample.roi),
            tuple(_text(path) for rows in runs for path in _images(rows[position])),
            _text(sample.reference),
        )
        for position, sample in enumerate(samples)
    ]
    outcomes = map_chunks(
        score_edits,
        tasks,
        progress="Scoring images",
        backend=options.scoring_backend,
        jobs=options.scoring_jobs,
        scheduler=options.scoring_scheduler,
    )
    of_sample = [iter(scored) for scored in outcomes]
    return [
        _with_spread(
            [
                _with_outcomes(row, [next(scored) for _ in _images(row)])
                for row, scored in zip(rows, of_sample, strict=True)
            ]
        )
        for rows in runs
    ]


def _images(row: EditedSample) -> tuple[Path | None, ...]:
    return row.edited.path, *row.edited.replicas


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _with_outcomes(row: EditedSample, outcomes: Sequence[EditOutcome | None]) -> EditedSample:
    scored = _with_outcome(row, outcomes[0])
    if not row.edited.replicas:
        return scored
    seeds = (row.edited.seed, *row.edited.replica_seeds)
    return replace(
        scored,
        seeds=tuple(
            _of_seed(path, seed, outcome)
            for path, seed, outcome in zip(_images(row), seeds, outcomes, strict=True)
        ),
    )


def _of_seed(path: Path | None, seed: int | None, outcome: EditOutcome | None) -> SeedScores:
    if outcome is None:
        absent = Score.unanswered(Status.MISSING, "no image from this seed")
        return SeedScores(path, seed, absent, absent)
    return SeedScores(path, seed, outcome.official, _strict(outcome))


def _with_spread(rows: list[EditedSample]) -> list[EditedSample]:
    if not any(row.seeds for row in rows):
        return rows
    return [
        row.with_scores(
            dict.fromkeys((metric.name for metric in SEED_METRICS), _absent_score(row))
            if row.edited.path is None
            else seed_spread(row.seeds or (_first_seed(row),))
        )
        for row in rows
    ]


def _first_seed(row: EditedSample) -> SeedScores:
    edited = row.edited
    return SeedScores(edited.path, edited.seed, row.scores["CP"], row.scores["CP_strict"])


def _with_outcome(row: EditedSample, outcome: EditOutcome | None) -> EditedSample:
    if outcome is None:
        absent = _absent_score(row)
        scores = dict.fromkeys(_JUDGE_FREE, absent)
        return replace(row, scores=scores, flags=row.edited.flags)
    scores = {
        "CP": outcome.official,
        "CP_strict": _strict(outcome),
        "PSNR_outside": outcome.psnr_outside,
        "PSNR_inside": outcome.psnr_inside,
        **outcome.signs,
    }
    flags = row.edited.flags | outcome.flags
    return replace(row, scores=scores, flags=flags, diagnostics=outcome.diagnostics)


def _strict(outcome: EditOutcome) -> Score:
    strict = outcome.context
    if strict.value is None:
        return strict
    # SSIM may be slightly negative; a missing image counts 0, and trying must never be worse.
    return Score(max(0.0, strict.value), strict.status, strict.note)


def _absent_score(row: EditedSample) -> Score:
    needed = {"previous image": row.sample.previous, "ROI mask": row.sample.roi}
    absent = [what for what, path in needed.items() if path is None]
    if absent:
        return Score.unscored(Status.DATA_ERROR, f"{' and '.join(absent)} missing")
    return row.absence
