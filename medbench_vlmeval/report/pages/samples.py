"""The samples of one or several runs, joined for the browser of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..judge_replies import dimension_of, replies_by_index
from ..runs import Run
from ..samples import SamplesAbsent, ShownSample, shown_samples
from .images import ImageShelf, Reference, described_image

Record = Mapping[str, Any]


@dataclass(frozen=True)
class RunSamples:
    """What one run's files say of its samples."""

    run: Run
    rows: Mapping[str, Record]
    """Lines of ``_scores.jsonl`` by index."""
    shown: Mapping[str, ShownSample]
    """What was shown by index; empty for a run of an earlier version."""
    replies: Mapping[str, Sequence[Record]]
    """Lines of ``_judge.jsonl`` by index."""

    @property
    def has_samples(self) -> bool:
        return bool(self.shown)


def samples_of_run(run: Run, data_root: Path | None) -> RunSamples:
    """Read the three files of a run.

    Raises:
        RunUnreadable: one of them is damaged, or the scores are absent.
    """
    return RunSamples(
        run,
        {str(row["index"]): row for row in run.rows},
        {str(it.index): it for it in _shown(run, data_root)},
        replies_by_index(run),
    )


def _shown(run: Run, data_root: Path | None) -> tuple[ShownSample, ...]:
    try:
        return shown_samples(run, data_root)
    except SamplesAbsent:
        return ()


def kind_of(runs: Sequence[RunSamples]) -> str:
    """What kind of samples these are; told from the rows where no run has ``_samples.jsonl``."""
    for one in runs:
        for shown in one.shown.values():
            return shown.kind
    row = next((row for one in runs for row in one.rows.values()), {})
    for field, kind in (("edited", "edit"), ("official_boxes", "boxes"), ("letter_by", "choice")):
        if field in row:
            return kind
    return "description"


def joined_samples(
    runs: Sequence[RunSamples], groupings: Sequence[str], metrics: Sequence[str], shelf: ImageShelf
) -> Iterator[dict[str, Any]]:
    """One record a sample, in the order of the first run that has it, with what each run made.

    Images, prompt and facts of a sample are those of the first run that knows its prompt, else of
    the first that knows the sample.
    """
    for index in dict.fromkeys(index for one in runs for index in one.rows):
        row = next(one.rows[index] for one in runs if index in one.rows)
        shown = _best_shown(runs, index)
        labels = row.get("groups", {})
        prompt = _prompt(shown)
        yield {
            "index": row["index"],
            "key": shown.key if shown else str(row.get("key", index)),
            "groups": [labels.get(name, "") for name in groupings],
            "images": [described_image(it, shelf) for it in shown.images] if shown else [],
            "prompt": prompt,
            "prompt_note": shown.prompt_note if shown else "",
            "about": {**_facts(row), **(shown.about if shown else {})},
            "runs": [_made(one, index, prompt, metrics, shelf) for one in runs],
        }


def _best_shown(runs: Sequence[RunSamples], index: str) -> ShownSample | None:
    found = [one.shown[index] for one in runs if index in one.shown]
    return next((it for it in found if it.prompt), found[0] if found else None)


def _prompt(shown: ShownSample | None) -> list[dict[str, Any]] | None:
    if shown is None or shown.prompt is None:
        return None
    return [{"image": it} if isinstance(it, int) else {"text": it} for it in shown.prompt]


def _facts(row: Record) -> dict[str, Any]:
    """What a row knows of its sample, for runs without ``_samples.jsonl``."""
    names = ("truth", "size_wh", "answer", "question_type", "reference_conclusion", "problem")
    return {name: row[name] for name in names if row.get(name) not in (None, "")}


def _made(
    one: RunSamples,
    index: str,
    prompt: list[dict[str, Any]] | None,
    metrics: Sequence[str],
    shelf: ImageShelf,
) -> dict[str, Any] | None:
    """What one run has of a sample; None where it lacks it. `prompt` is the one told already."""
    row = one.rows.get(index)
    if row is None:
        return None
    own = one.shown.get(index)
    asked = _prompt(own)
    made: dict[str, Any] = {
        "status": _status(row),
        "flags": [*row.get("flags", ()), *_judge_flags(row)],
        "scores": [_score(row.get("scores", {}).get(name)) for name in metrics],
        "reply": own.reply if own else None,
        "reading": _reading(row),
        "judge": _verdicts(row),
        "replies": [_reply(it) for it in one.replies.get(index, ())],
        "prompt": asked if asked != prompt else None,
        **_edits(one.run, row, shelf),
    }
    return {name: value for name, value in made.items() if value not in (None, [], {})}


def _status(row: Record) -> str:
    return str(row.get("edited", row).get("status") or row.get("reply_status") or "")


def _judge_flags(row: Record) -> Iterator[str]:
    statuses = {str(verdict.get("status", "answer")) for verdict in _verdicts(row).values()}
    yield from (f"judge: {it}" for it in sorted(statuses - {"answer"}))


def _verdicts(row: Record) -> dict[str, Record]:
    """The judge's verdicts by dimension; ``""`` where there is only one."""
    judge = row.get("judge") or {}
    if not judge and row.get("judge_call"):
        return {"": {"call_id": row["judge_call"], "status": "answer"}}
    if "call_id" in judge:
        judge = {"": judge}
    kept = ("call_id", "status", "note", "reading", "rounds", "model_returned")
    return {
        dimension: {name: verdict[name] for name in kept if verdict.get(name) not in (None, "")}
        for dimension, verdict in judge.items()
    }


def _score(score: Record | None) -> Any:
    """A plain number, or ``[value, status, note, is the model's fault]``; None for none."""
    if score is None:
        return None
    value = score.get("value")
    value = None if value is None else _rounded(value)
    rest = [score.get("status", ""), score.get("note", ""), bool(score.get("model_fault"))]
    return value if rest == ["answer", "", False] else [value, *rest]


def _rounded(value: Any) -> Any:
    """Numbers to six digits, more than a page shows; anything else as it is."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _reading(row: Record) -> dict[str, Any]:
    """How a reply was read: boxes, letters or conclusions, and a mask's status."""
    names = ("official_boxes", "strict_box", "official_letter", "strict_letter", "judge_letter")
    read = {name: row[name] for name in (*names, "letter_by", "conclusion") if row.get(name)}
    if row.get("mask"):
        read["mask"] = {name: row["mask"].get(name) for name in ("status", "note")}
    if row.get("diagnostics"):
        read["diagnostics"] = {name: _rounded(it) for name, it in row["diagnostics"].items()}
    return read


def _edits(run: Run, row: Record, shelf: ImageShelf) -> dict[str, Any]:
    """The edited image of a row and its replicas, from the folder beside the predictions."""
    edited = row.get("edited")
    if edited is None:
        return {}
    made: dict[str, Any] = {"edited": _edit(run, edited, shelf)}
    if len(row.get("replicas", ())) > 1:
        made["replicas"] = [_edit(run, it, shelf) for it in row["replicas"]]
    return made


def _edit(run: Run, edited: Record, shelf: ImageShelf) -> Reference:
    kept = ("note", "seed", "settings", "CP", "CP_strict")
    described = {name: edited[name] for name in kept if edited.get(name) not in (None, "")}
    if "note" in described:
        described["says"] = described.pop("note")
    name = edited.get("file")
    if not name:
        why = str(edited.get("status", "missing")).replace("_", " ")
        return described | {"missing": f"the model gave no image: {why}"}
    path = run.beside("_images") / Path(name).name
    if not path.is_file():
        return described | {"missing": f"{path.name} is not in {path.parent.name}"}
    return described | shelf.reference(path)


def _reply(line: Record) -> dict[str, Any]:
    kept = ("call_id", "repeat", "attempt", "status", "note", "reply", "refusal", "model_returned")
    return {"dimension": dimension_of(line)} | {
        name: line[name] for name in kept if line.get(name) not in (None, "")
    }
