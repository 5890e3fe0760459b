"""From finished runs to sheets for raters, and the key that stays at home."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import json_line, sha256_bytes
from ..report.runs import Run
from ..report.safe_text import visible
from .key import KEY_NAME, RatedAnswer, SheetKey, run_facts
from .pool import ImagePool
from .sheets import FORM_NAME, Sheet, sheet_for, write_sheet
from .subjects import RatedRuns, Subject

FOR_RATERS = "for_raters"
_RATER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")


@dataclass(frozen=True)
class ExportChoices:
    """What the sheets shall hold.

    Raises:
        ValueError: no samples, no raters, or names of raters that are no file names.
    """

    n_samples: int = 40
    raters: tuple[str, ...] = ("A",)
    seed: int = 0
    hide_reference: bool = False
    delimiter: str = ","

    def __post_init__(self) -> None:
        if self.n_samples < 1:
            raise ValueError(f"expected at least one sample, got {self.n_samples}")
        odd = [name for name in self.raters if not _RATER.fullmatch(name)]
        folded = {name.casefold() for name in self.raters}
        if odd or not self.raters or len(folded) < len(self.raters):
            raise ValueError(
                f"expected different names of raters, each a letter and up to 30 letters, digits, "
                f"_ or -, got {list(self.raters)}; initials will do"
            )


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    key: SheetKey
    n_samples: int
    wanted: int

    def lines(self) -> list[str]:
        """What a user should know, a line each."""
        key = self.key
        lines = [
            f"sheet {key.sheet}: {self.n_samples} samples of {key.dataset}, "
            f"{len(key.models)} models, {len(key.answers)} items a rater"
        ]
        if self.n_samples < self.wanted:
            lines.append(f"  {self.wanted} samples were asked for; there are no more to rate")
        skipped = key.left_out.items()
        lines += [f"  skipped {count}: {reason}" for reason, count in skipped]
        lines += _judge_lines(key)
        lines += [
            f"rater {rater}: {self.folder / FOR_RATERS / folder_name(rater) / FORM_NAME}"
            for rater in key.raters
        ]
        lines.append(f"key, not for raters: {self.folder / KEY_NAME}")
        return lines


def _judge_lines(key: SheetKey) -> list[str]:
    lines = [f"  {visible(warning)}" for warning in key.judge_warnings]
    for number, run in enumerate(key.runs):
        own = [answer for answer in key.answers if answer.run == number]
        open_ = sum(None in answer.verdicts.values() for answer in own)
        if open_ and run["judge"] is not None:
            model = visible(str(run["model"]))
            lines.append(f"  {model}: {open_} of {len(own)} items lack a verdict of the judge")
    return lines


def folder_name(rater: str) -> str:
    """The folder of one rater."""
    return f"rater_{rater}"


def export_sheets(
    runs: Sequence[Run], out: Path, choices: ExportChoices, *, data_root: Path | None = None
) -> Exported:
    """Write a blinded sheet a rater, and the key.

    Args:
        runs: of one data set, each by another model.
        out: a folder that is not there yet; it gets ``for_raters/`` and ``key.json``, both or
            neither.
        choices: how many samples, for whom.
        data_root: where the data lies, if it moved since the evaluation.

    Raises:
        FileExistsError: `out` holds something; an export never replaces sheets or a key.
        RunUnreadable: runs that do not go together, or that nobody can rate.
        ValueError: no sample that can be rated for every model.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(
            f"{out}: expected a new folder, got one that holds something; sheets and keys are "
            "never replaced, choose another --out"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    try:
        exported = _written(staged, runs, out, choices, data_root)
        _give_default_mode(staged)
        if out.is_dir():
            out.rmdir()
        staged.replace(out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return exported


def _written(
    staged: Path, runs: Sequence[Run], out: Path, choices: ExportChoices, data_root: Path | None
) -> Exported:
    pool = staged / "pool"
    pool.mkdir()
    rated = RatedRuns(runs, ImagePool(pool), data_root, choices.hide_reference)
    subjects = list(rated.drawn(choices.n_samples, choices.seed))
    if not subjects:
        reasons = "; ".join(f"{reason} ({n})" for reason, n in rated.left_out.items())
        raise ValueError(
            f"expected samples that every model answered, got none of {runs[0].dataset}: "
            f"{reasons or 'the runs have no sample in common'}"
        )
    facts = [run_facts(run) for run in runs]
    digest = _digest(facts, choices)
    name = f"HC{digest[:8]}"  # letters first: a spreadsheet takes 12e45678 for a number
    sheets = [sheet_for(name, rater, rated.rubric, subjects, digest) for rater in choices.raters]
    for sheet in sheets:
        folder = staged / FOR_RATERS / folder_name(sheet.rater)
        write_sheet(folder, sheet, subjects, choices.delimiter)
    key = _key(name, rated, subjects, sheets, choices, facts)
    key.write(staged / KEY_NAME)
    shutil.rmtree(pool)
    return Exported(out, key, len(subjects), choices.n_samples)


def _key(
    name: str,
    rated: RatedRuns,
    subjects: Sequence[Subject],
    sheets: Sequence[Sheet],
    choices: ExportChoices,
    facts: Sequence[Mapping[str, Any]],
) -> SheetKey:
    n_runs = len(rated.runs)
    return SheetKey(
        sheet=name,
        dataset=rated.runs[0].dataset,
        rubric=rated.rubric,
        settings={
            "n_samples": choices.n_samples,
            "seed": choices.seed,
            "hide_reference": choices.hide_reference,
            "groups": dict(Counter(_stratum(it, rated.rubric.strata[0]) for it in subjects)),
        },
        runs=facts,
        clusters={subject.index: subject.cluster for subject in subjects},
        answers=[
            RatedAnswer(it.run, subject.index, it.sha256, it.verdicts, it.computed)
            for subject in subjects
            for it in subject.answers
        ],
        columns=sheets[0].fixed_columns,
        raters={
            sheet.rater: sheet.key_items([n_runs * n for n in range(len(subjects))])
            for sheet in sheets
        },
        left_out=dict(rated.left_out),
    )


def _stratum(subject: Subject, group: str) -> str:
    return subject.groups.get(group, "")


def _digest(facts: Sequence[Mapping[str, Any]], choices: ExportChoices) -> str:
    """Decides the order in every sheet: the same again for the same runs and choices.

    It holds the hashes of the runs, which raters do not have, so that nobody can work out the order
    from the seed.
    """
    hashes = [sorted(fact["files"].values()) for fact in facts]
    return sha256_bytes(json_line([hashes, choices]).encode("utf-8"))


def _give_default_mode(folder: Path) -> None:
    # a temporary folder is readable by its owner only; sheets are shared with colleagues
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)
