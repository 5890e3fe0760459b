"""Several trials of one model on the same questions: mean accuracy, agreement, calibration.

After the protocol of MedQ-Deg (arXiv 2603.07769): confidence is 1 minus the entropy of a model's
answers to one question over the logarithm of the number of options; the calibration shift is mean
confidence minus mean accuracy, positive for a model that is surer than it is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ..files import sha256_file
from ..predictions import read_predictions
from .answered_questions import AnsweredQuestion, answered_questions
from .medq_perception_metrics import ACCURACY, ACCURACY_STRICT
from .prepared_rows import predictions_by_index


@dataclass(frozen=True)
class Trials:
    """All trials of a run, the run itself first; without further files there is nothing to say."""

    runs: tuple[tuple[AnsweredQuestion, ...], ...]
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return len(self.runs)

    def accuracies(self) -> list[float]:
        """Official accuracy of each trial, over the questions that can be scored."""
        of_runs = [_values(run, ACCURACY.name) for run in self.runs]
        return [fmean(values) for values in of_runs if values]

    def confidence(self) -> float | None:
        """Mean over the questions with at least two readable letters; see `vote_confidence`."""
        found = []
        for replies in zip(*self.runs, strict=True):
            letters = [row.reading.letter for row in replies if row.reading.letter is not None]
            options = replies[0].sample.options
            if len(letters) >= 2 and len(options) >= 2:
                found.append(vote_confidence(letters, len(options)))
        return fmean(found) if found else None

    def flat(self) -> dict[str, float | int]:
        if self.n < 2 or not _values(self.runs[0], ACCURACY.name):
            return {}
        accuracy, confidence = fmean(self.accuracies()), self.confidence()
        flat: dict[str, float | int] = {"n_trials": self.n, "accuracy_trials": accuracy}
        if confidence is not None:
            # Against the strict accuracy: confidence, too, is about letters read strictly.
            strict = fmean(fmean(_strict_values(run)) for run in self.runs)
            flat |= {"confidence": confidence, "calibration_shift": confidence - strict}
        return flat

    def manifest(self) -> dict[str, Any] | None:
        if self.n < 2:
            return None
        return {
            "files": [{"file": str(path), "sha256": sha256_file(path)} for path in self.files],
            "accuracies": self.accuracies(),
            **self.flat(),
        }

    def note(self) -> str:
        flat = self.flat()
        if not flat:
            return ""
        text = f"{self.n} trials: mean accuracy {flat['accuracy_trials']:.3f}"
        if "calibration_shift" in flat:
            text += (
                f", confidence {flat['confidence']:.3f}, "
                f"calibration shift {flat['calibration_shift']:+.3f}"
            )
        return text


def trials_of(rows: Sequence[AnsweredQuestion], files: Sequence[Path]) -> Trials:
    """The run and its further trials, read as the run was.

    Raises:
        ValueError, FileNotFoundError: a file that cannot be used.
    """
    runs, warnings = [tuple(rows)], list[str]()
    for path in files:
        replies, found = predictions_by_index(
            read_predictions(path), [row.sample.index for row in rows]
        )
        runs.append(tuple(answered_questions([row.sample for row in rows], replies)))
        warnings += found
    return Trials(tuple(runs), tuple(files), tuple(warnings))


def vote_confidence(letters: Sequence[str], n_options: int) -> float:
    """How much a model's answers to one question agree: 1 for all the same, 0 for evenly spread.

    Args:
        letters: the answers, at least one.
        n_options: options of the question, at least two.

    Raises:
        ValueError: fewer of either.
    """
    if not letters or n_options < 2:
        raise ValueError(f"expected answers and two options, got {len(letters)} and {n_options}")
    shares = [count / len(letters) for count in Counter(letters).values()]
    entropy = sum(-share * math.log(share) for share in shares)
    return 1.0 - entropy / math.log(n_options)


def _values(run: Sequence[AnsweredQuestion], metric: str) -> list[float]:
    scores = (row.scores[metric].value for row in run)
    return [value for value in scores if value is not None]


def _strict_values(run: Sequence[AnsweredQuestion]) -> list[float]:
    scores = [row.scores[ACCURACY_STRICT.name] for row in run]
    return [score.value or 0.0 for score in scores if score.value is not None or score.model_fault]
