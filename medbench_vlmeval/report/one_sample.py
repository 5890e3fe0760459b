"""One sample of a finished run, whole: what was shown, asked, answered, read, scored and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..files import to_plain
from .judge_replies import replies_by_index
from .one_sample_text import (
    file_lines,
    headed,
    image_lines,
    judge_lines,
    named_lines,
    prompt_lines,
    quoted_lines,
    score_lines,
)
from .runs import Run
from .safe_text import visible
from .samples import SamplesAbsent, ShownSample, sample_lines, shown_sample

_ELSEWHERE = {"index", "key", "cluster", "groups", "scores", "judge"}
"""Fields of a row of scores with a place of their own among the lines."""
_SUFFIXES = (
    *("_scores.jsonl", "_samples.jsonl", "_judge.jsonl"),
    *("_score.json", "_acc.csv", "_manifest.json"),
)


@dataclass(frozen=True)
class OneSample:
    """Everything the files of a run hold about one sample."""

    run: Run
    row: Mapping[str, Any]
    """Its line of ``_scores.jsonl``."""
    shown: ShownSample | None
    """None for a run of an earlier version."""
    absence: str
    """Why nothing is known of what was shown; empty where it is."""
    judge: tuple[Mapping[str, Any], ...] | None
    """Its lines of ``_judge.jsonl``, all attempts in their order; None when not asked for."""

    def lines(self) -> list[str]:
        """What a reader should see, top to bottom, safe for a terminal."""
        shown = self.shown
        lines = [visible(self._title()), *headed("sample", self._about())]
        if shown is None:
            lines += headed("shown", [f"  {visible(self.absence)}"])
        else:
            lines += headed("images", image_lines(shown.images))
            lines += headed("prompt", prompt_lines(shown))
            lines += headed("reply", quoted_lines(shown.reply, "the prediction file has none"))
        lines += headed("read from the reply", named_lines(self._readings()))
        lines += headed("scores", score_lines(self.row.get("scores", {})))
        if self.row.get("judge"):
            lines += headed("judge's verdict", named_lines(self.row["judge"]))
        if self.judge is not None:
            lines += headed("judge's replies", judge_lines(self.judge))
        return lines + headed("files", file_lines(self.files()))

    def facts(self) -> dict[str, Any]:
        """The same for programs, with texts as they are."""
        shown = None if self.shown is None else to_plain(asdict(self.shown))
        return {
            "run": self.run.stem,
            "index": self.row.get("index"),
            "key": self.row.get("key", str(self.row.get("index"))),
            "shown": shown,
            "absence": self.absence,
            "scores": to_plain(dict(self.row)),
            "judge": None if self.judge is None else to_plain(self.judge),
            "files": {name: str(path) for name, path in self.files().items()},
        }

    def files(self) -> dict[str, Path]:
        """The files of the run that are there, and the edited images of this sample."""
        found = {"predictions": self.run.predictions}
        found |= {suffix: self.run.beside(suffix) for suffix in _SUFFIXES}
        found = {name: path for name, path in found.items() if path.is_file()}
        folder = self.run.beside("_images")
        for name, file in self._edited_images().items():
            # The name comes from a file that others may have written; it names no folder.
            found[name] = folder / Path(file).name
        return found

    def _edited_images(self) -> dict[str, str]:
        edited = (self.row.get("edited") or {}).get("file")
        images = {} if not edited else {"edited image": str(edited)}
        for number, replica in enumerate(self.row.get("replicas", ())):
            if replica.get("file") and replica["file"] != edited:
                images[f"edited image, replica {number}"] = str(replica["file"])
        return images

    def _title(self) -> str:
        index, key = self.row.get("index"), str(self.row.get("key", ""))
        named = f" (key {key})" if key not in ("", str(index)) else ""
        return f"{self.run.stem}: sample {index}{named}"

    def _about(self) -> list[str]:
        about = dict(self.shown.about) if self.shown else {}
        groups = {name: it for name, it in self.row.get("groups", {}).items() if name not in about}
        kind = {"kind": self.shown.kind} if self.shown else {}
        return named_lines({**kind, **groups, "cluster": self.row.get("cluster"), **about})

    def _readings(self) -> dict[str, Any]:
        told = _ELSEWHERE | set(self.shown.about if self.shown else self.row.get("groups", {}))
        return {name: value for name, value in self.row.items() if name not in told}


def one_sample(
    run: Run, identifier: str, *, data_root: Path | None = None, with_judge: bool = True
) -> OneSample:
    """What the files of a run hold about one sample; no image is opened.

    Args:
        run: the run.
        identifier: the sample's index or key; an index comes first.
        data_root: where prepared data lies now, for images that are no longer where they were.
        with_judge: read the judge's replies, too.

    Raises:
        ValueError: no sample of that name, or several; the message names some that there are.
        RunUnreadable: files that are damaged.
    """
    row = _row(run, identifier)
    shown, absence = None, ""
    try:
        line = next((it for it in sample_lines(run) if it.get("index") == row["index"]), None)
        shown = None if line is None else shown_sample(line, data_root)
        absence = "" if line else "_samples.jsonl has no such line; evaluate again"
    except SamplesAbsent as error:
        absence = str(error)
    judge = tuple(replies_by_index(run).get(str(row["index"]), ())) if with_judge else None
    return OneSample(run, row, shown, absence, judge)


def _row(run: Run, identifier: str) -> Mapping[str, Any]:
    wanted = identifier.strip()
    by_index = [row for row in run.rows if str(row.get("index")) == wanted]
    found = by_index or [row for row in run.rows if str(row.get("key")) == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        indices = ", ".join(str(row.get("index")) for row in found[:10])
        raise ValueError(
            f"expected the name of one sample, got {wanted!r}, the key of {len(found)}; "
            f"give an index: {indices}"
        )
    raise ValueError(
        f"expected an index or key of the {len(run.rows)} samples of {run.stem}, "
        f"got {visible(wanted)!r}; {_there_are(run.rows, wanted)}"
    )


def _there_are(rows: Sequence[Mapping[str, Any]], wanted: str) -> str:
    names = [str(row.get("index")) for row in rows]
    if wanted.lstrip("-").isdecimal() and all(name.lstrip("-").isdecimal() for name in names):
        nearest = sorted(names, key=lambda name: abs(int(name) - int(wanted)))[:5]
        return f"the nearest are {', '.join(nearest)}"
    named = dict.fromkeys([*names, *(str(row["key"]) for row in rows if "key" in row)])
    begun = [name for name in named if wanted and name.startswith(wanted)]
    close = begun[:5] or get_close_matches(wanted, named, n=5)
    if close:
        return f"the nearest are {', '.join(map(visible, close))}"
    return f"the first are {', '.join(names[:5])}"
