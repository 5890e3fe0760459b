"""What finished runs have to rate: each sample as it was shown, and what every model made of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ..files import sha256_bytes
from ..report.runs import Run, RunUnreadable
from ..report.samples import ShownSample, shown_samples
from .pool import ImagePool, Unsuitable
from .rubrics import CAPTIONS, EDITS, PAIRS, Rubric
from .sampling import drawn_in_turn

_NO_REPLY = ("missing", "api_fail")
_SHORTEST_NAME = 3
"""Names shorter than this stand in ordinary words; they give no model away."""


@dataclass(frozen=True)
class Answer:
    """What one model made of a sample: a picture, or a text."""

    run: int
    """Position among the runs."""
    image: Path | None
    """In the pool."""
    text: str
    sha256: str
    """Of the edited image's file, or of the text."""
    verdicts: Mapping[str, float | None]
    """The judge's, by dimension, on the raters' scale; None where it gave none."""
    computed: Mapping[str, float | None]


@dataclass(frozen=True)
class Subject:
    """One sample with the answers of all models."""

    index: int
    cluster: str
    """Samples of one source image share it."""
    groups: Mapping[str, str]
    texts: Mapping[str, str]
    """What a rater reads, by column of the sheet."""
    images: Mapping[str, Path]
    """What a rater sees beside the answer, by role, in the pool."""
    answers: tuple[Answer, ...]


@dataclass
class RatedRuns:
    """Runs of one data set by different models, whose answers can be put before raters.

    Raises:
        RunUnreadable: runs of different data, of one model twice, of a kind that nobody rates, or
            without the file that says what was shown.
    """

    runs: Sequence[Run]
    pool: ImagePool
    data_root: Path | None = None
    """Where images lie now, if the data moved since the evaluation."""
    hide_reference: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    """Samples that were drawn and could not be used, by reason."""

    def __post_init__(self) -> None:
        check_together(self.runs)
        self._shown = [
            {sample.index: sample for sample in shown_samples(run, self.data_root)}
            for run in self.runs
        ]
        self._rows = [{row["index"]: row for row in run.rows} for run in self.runs]
        self.rubric = rubric_of(self.runs[0], next(iter(self._shown[0].values())))
        if self.hide_reference and self.rubric is not EDITS:
            raise RunUnreadable(
                "expected the reference of descriptions to be shown: their rubric holds the text "
                "against it; leave --hide-reference away"
            )

    def drawn(self, n: int, seed: int) -> Iterator[Subject]:
        """A stratified sample of n, the same for every model; fewer where there are no more.

        Samples that one of the models gave nothing for are skipped and counted in `left_out`.
        """
        known = [
            set(rows) & set(shown) for rows, shown in zip(self._rows, self._shown, strict=True)
        ]
        indices = sorted(set.intersection(*known))
        labels = [self._labels(index) for index in indices]
        found = 0
        for position in drawn_in_turn(labels, Random(f"{seed} samples")):
            if found == n:
                return
            try:
                subject = self._subject(indices[position])
            except Unsuitable as reason:
                self.left_out[str(reason)] += 1
                continue
            found += 1
            yield subject

    def _labels(self, index: int) -> tuple[str, ...]:
        groups = self._rows[0][index].get("groups", {})
        return tuple(groups.get(name, "") for name in self.rubric.strata)

    def _subject(self, index: int) -> Subject:
        row, shown = self._rows[0][index], self._shown[0][index]
        answers = tuple(self._answer(number, index) for number in range(len(self.runs)))
        roles = self._roles(shown)
        return Subject(
            index,
            str(row.get("cluster", index)),
            dict(row.get("groups", {})),
            texts_of(shown, self.rubric),
            {role: self._image(shown, role) for role in roles},
            answers,
        )

    def _roles(self, shown: ShownSample) -> list[str]:
        if self.rubric is EDITS:
            return ["previous"] if self.hide_reference else ["previous", "reference"]
        return ["first", "second"] if self.rubric is PAIRS else ["image"]

    def _image(self, shown: ShownSample, role: str) -> Path:
        image = next((it for it in shown.images if it.role == role), None)
        if image is None or image.found is None:
            raise Unsuitable(f"the image `{role}` is missing")
        return self.pool.add(image.found, f"the image `{role}`", image.sha256)

    def _answer(self, number: int, index: int) -> Answer:
        row = self._rows[number][index]
        if self.rubric is EDITS:
            image, text = self._edited(number, row), ""
            digest = row["edited"].get("sha256") or ""
        else:
            image, text = None, self._reply(number, index)
            digest = sha256_bytes(text.encode("utf-8", errors="replace"))
        scores, dimensions = row.get("scores", {}), self.rubric.dimensions
        return Answer(
            number,
            image,
            text,
            digest,
            {it.name: _graded(scores, it.column, it.grade_per_unit) for it in dimensions},
            {name: _graded(scores, name) for it in dimensions for name in it.computed},
        )

    def _edited(self, number: int, row: Mapping[str, Any]) -> Path:
        name = row["edited"].get("file")
        if not name:
            raise Unsuitable(f"a model gave no picture ({row['edited']['status']})")
        if Path(name).name != name:
            # A run may come from elsewhere; it must not put other files before raters.
            raise Unsuitable("an edited image lies outside its run")
        path = self.runs[number].beside("_images") / name
        return self.pool.add(path, "an edited image", row["edited"].get("sha256"))

    def _reply(self, number: int, index: int) -> str:
        status = self._rows[number][index].get("reply_status")
        reply = self._shown[number][index].reply or ""
        if status in _NO_REPLY or not reply.strip():
            raise Unsuitable(f"a model gave no text ({status})")
        if any(_names(reply, run.model) for run in self.runs):
            raise Unsuitable("a text names a model")
        return reply


def check_together(runs: Sequence[Run]) -> None:
    """Whether runs can be rated side by side.

    Raises:
        RunUnreadable: none, of different data, or one model twice.
    """
    if not runs:
        raise RunUnreadable("expected at least one run, got none")
    facts = {(run.dataset, str(run.manifest["data"].get("fingerprint"))) for run in runs}
    if len(facts) > 1:
        names = ", ".join(sorted(f"{name} ({mark[:12]})" for name, mark in facts))
        raise RunUnreadable(
            f"expected runs of one data set in one state, got {names}; "
            "evaluate the models on the same data"
        )
    counts = Counter(run.model for run in runs)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise RunUnreadable(
            f"expected one run a model, got several of {', '.join(twice)}; name one of them"
        )


def rubric_of(run: Run, sample: ShownSample) -> Rubric:
    """What is rated of a run, by what its samples are.

    Raises:
        RunUnreadable: answers that need no rater.
    """
    if sample.kind == "edit":
        return EDITS
    if sample.kind == "description":
        return PAIRS if any(image.role == "second" for image in sample.images) else CAPTIONS
    raise RunUnreadable(
        f"expected a run of edits or descriptions, got {sample.kind} ({run.dataset}); "
        "answers of this kind need no rater"
    )


def texts_of(shown: ShownSample, rubric: Rubric) -> dict[str, str]:
    """What a rater reads of a sample, by column of the sheet.

    Raises:
        Unsuitable: a description has nothing to be held against.
    """
    about = shown.about
    if rubric is EDITS:
        return {name: str(about.get(name) or "") for name in ("instruction", "description")}
    if not (about.get("reference") or "").strip():
        raise Unsuitable("the reference text is missing")
    asked = [part for part in shown.prompt or () if isinstance(part, str)]
    return {
        "question": "\n".join(asked) or about.get("question") or "",
        "reference": about["reference"],
    }


def _names(text: str, model: str) -> bool:
    whole_word = rf"(?<!\w){re.escape(model)}(?!\w)"
    return len(model) >= _SHORTEST_NAME and bool(re.search(whole_word, text, re.IGNORECASE))


def _graded(scores: Mapping[str, Any], column: str, factor: float = 1.0) -> float | None:
    value = (scores.get(column) or {}).get("value")
    return None if value is None else round(float(value) * factor, 6)
