"""Where the numbers of a page come from: manifests, warnings, files, what runs do not share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runs import Run
from .images import url_of

_BESIDE = (
    "_scores.jsonl",
    "_samples.jsonl",
    "_judge.jsonl",
    "_acc.csv",
    "_score.json",
    "_manifest.json",
)


def provenance_of(run: Run, name: str, links_from: Path | None) -> dict[str, Any]:
    """Facts, warnings and files of a run; the files as links where the page lies near them."""
    paths = [run.predictions, *map(run.beside, _BESIDE)]
    files = [
        {"name": path.name, "href": url_of(path, links_from) if links_from else ""}
        for path in paths
        if path.is_file()
    ]
    return {
        "name": name,
        "facts": facts_of(run),
        "warnings": list(warnings_of(run)),
        "files": files,
    }


def facts_of(run: Run) -> dict[str, str]:
    """Where the numbers of a run come from, in words: its whole manifest but the columns."""
    told = {label: _inner(run.manifest, path) for label, path in _FIRST.items()}
    rest = _flat({name: it for name, it in run.manifest.items() if name not in _SHOWN_ELSEWHERE})
    known = {" ".join(path).replace("_", " ") for path in _FIRST.values()}
    told |= {name: it for name, it in rest.items() if name not in known}
    return {label: _said(it) for label, it in told.items() if it not in (None, "", [], {})}


_FIRST = {
    "evaluated": ("created",),
    "data": ("data", "name"),
    "data revision": ("data", "revision"),
    "judge": ("judge", "model_requested"),
    "judge as returned": ("judge", "models_returned"),
    "medbench-vlmeval": ("medbench_vlmeval",),
}
_SHOWN_ELSEWHERE = ("schema", "metrics", "files", "warnings", "gaming", "notes", "editors")


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the first two levels by their path."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if name in ("data", "judge", "settings") and isinstance(value, Mapping):
            flat |= {f"{name} {inner}".replace("_", " "): it for inner, it in value.items()}
        else:
            flat[name.replace("_", " ")] = value
    return flat


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_said(it)}" for name, it in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_said, value))
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )


def warnings_of(run: Run) -> tuple[str, ...]:
    """What a reader of a run's numbers should know first."""
    manifest = run.manifest
    kinds = ("warnings", "gaming", "notes")
    said = [str(it) for kind in kinds for it in manifest.get(kind) or ()]
    if not manifest.get("complete", True):
        said.insert(0, f"incomplete: {manifest.get('judge_note') or 'judging stopped early'}")
    return tuple(said)


def differences_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """What runs on one page do not share, and comparing them needs to know."""
    said = []
    for label, path in (
        ("data", ("data", "fingerprint")),
        ("data revision", ("data", "revision")),
        ("judge", ("judge", "model_requested")),
        ("prompts", ("prompts",)),
        ("medbench-vlmeval", ("medbench_vlmeval",)),
    ):
        values = [_said(_inner(run.manifest, path)) for run in runs]
        if len(set(values)) > 1:
            told = "; ".join(f"{run.model}: {it}" for run, it in zip(runs, values, strict=True))
            said.append(f"{label} differ: {told}")
    if len({frozenset(str(row["index"]) for row in run.rows) for run in runs}) > 1:
        counts = ", ".join(f"{run.model} {len(run.rows)}" for run in runs)
        said.append(f"the runs do not hold the same samples: {counts}")
    return tuple(said)


def _inner(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if value is not None else "none"
