"""Finding finished runs in output folders of both hosts, in single files and in .zip files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath

from ..files import sha256_file
from .runs import MANIFEST_SUFFIX, Run, RunUnreadable, runs_below
from .zipped import unpack_runs

_TABLE_SUFFIXES = (".xlsx", ".tsv", ".csv", ".json", ".jsonl", ".pkl")
_OF_OURS = re.compile(
    r"(?P<model>.+?)[_@](?:Med(?:EBench|SG|Q)\w*_(?:dev|test|sample)"
    r"|(?:Medqbench|MedQDEGBench)[A-Za-z]*(?:_dev|_test)?)"
)
"""A file that holds predictions for one of our data sets, by its name without ending."""
_READ = ("_scores.jsonl", "_score.json", "_acc.csv")
"""What is read of a run; a board from files that do not belong together would be wrong."""


@dataclass(frozen=True)
class Collected:
    """The runs that were found, and what was found but cannot be used, a line each."""

    runs: tuple[Run, ...]
    problems: tuple[str, ...]
    scratch: Path
    """Where archives were unpacked to; gone when the context ends."""

    def is_unpacked(self, run: Run) -> bool:
        """Whether the run lies in an archive, and its files here only for now."""
        return run.manifest_path.is_relative_to(self.scratch)


@dataclass
class _Finds:
    scratch: Path
    whole: bool
    runs: list[Run] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)


@contextmanager
def collecting(paths: Iterable[Path], *, whole: bool = False) -> Iterator[Collected]:
    """The runs below folders, behind single files, and in .zip files given or lying in folders.

    A run counts once however many links lead to it. Predictions that were never evaluated, damaged
    files and manifests of a newer version are problems, named with their remedy. What is unpacked
    lives as long as the context.

    Args:
        paths: folders, manifests or any file of a run, .zip files.
        whole: unpack edited images and the judge's replies, too.
    """
    with tempfile.TemporaryDirectory(prefix="medbench-runs-") as scratch:
        found = _Finds(Path(scratch).resolve(), whole)
        for path in paths:
            _collect(path, found)
        yield Collected(tuple(found.runs), tuple(dict.fromkeys(found.problems)), found.scratch)


def _collect(path: Path, found: _Finds) -> None:
    if path.is_dir():
        _collect_folder(path, found)
        for archive in sorted(path.rglob("*.zip")):
            _collect_archive(archive, found)
    elif path.suffix.lower() == ".zip":
        _collect_archive(path, found)
    else:
        try:
            _add(Run.at(path), found)
        except RunUnreadable as error:
            found.problems.append(str(error))


def _collect_archive(archive: Path, found: _Finds) -> None:
    real = archive.resolve()
    if real in found.seen:
        return
    found.seen.add(real)
    target = found.scratch / str(len(found.seen))
    target.mkdir()
    unpacked = unpack_runs(archive, target, whole=found.whole)
    found.problems += unpacked.problems
    for folder, origin in sorted(unpacked.folders.items(), key=lambda it: it[1]):
        _collect_folder(folder, found, origin)
    names = [PurePosixPath(name) for name in unpacked.names]
    found.problems += [f"{archive}: {text}" for text in _not_evaluated(names)]


def _collect_folder(folder: Path, found: _Finds, origin: str = "") -> None:
    for manifest in runs_below([folder]):
        place = origin or _as_given(manifest.parent, folder)
        try:
            _add(Run.read(manifest, place), found)
        except RunUnreadable as error:
            found.problems.append(str(error).replace(str(manifest), f"{place}: {manifest.name}"))
    files = _files_below(folder)
    found.problems += _half_written_of(files, folder, origin)
    found.problems += _not_evaluated([Path(_as_given(it, folder)) for it in files])


def half_written(folder: Path) -> list[str]:
    """Rows without a manifest and manifests without rows below a folder, a line each."""
    return _half_written_of(_files_below(folder), folder, "")


def _half_written_of(files: Iterable[Path], folder: Path, origin: str) -> list[str]:
    """As `half_written`; `origin` is what to call the place instead of where the files are."""
    return [
        f"{origin or _as_given(path.parent, folder)}: {problem}"
        for path in files
        if (problem := _half_written(path))
    ]


def _files_below(folder: Path) -> list[Path]:
    """Tables and texts by their real paths, each once; VLMEvalKit links from models to runs."""
    # Edited images are many, and no part of this.
    named = (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _TABLE_SUFFIXES)
    return list(dict.fromkeys(path.resolve() for path in named if path.is_file()))


def _as_given(real: Path, folder: Path) -> str:
    """A place in the words of the user: boards are published, home folders are not."""
    root = folder.resolve()
    return str(folder / real.relative_to(root)) if real.is_relative_to(root) else str(real)


def _half_written(path: Path) -> str:
    """What is wrong with rows without a manifest, or a run's manifest without rows."""
    if path.name.endswith("_scores.jsonl"):
        manifest = path.with_name(path.name.removesuffix("_scores.jsonl") + MANIFEST_SUFFIX)
        lacks = f"{path.name} has no manifest beside it, the evaluation was killed"
        return "" if manifest.is_file() else f"{lacks}; evaluate again"
    if not path.name.endswith(MANIFEST_SUFFIX):
        return ""
    scores = path.with_name(path.name.removesuffix(MANIFEST_SUFFIX) + "_scores.jsonl")
    is_absent = not scores.is_file() and _is_of_a_run(path)
    return f"{scores.name} is not there; evaluate again" if is_absent else ""


def _is_of_a_run(path: Path) -> bool:
    """Whether a manifest is that of a run; other programs write some, too."""
    try:
        return isinstance(Run.read(path).manifest.get("predictions"), dict)
    except RunUnreadable:
        return False


def _add(run: Run, found: _Finds) -> None:
    real = run.manifest_path.resolve()
    if real in found.seen:
        return
    found.seen.add(real)
    problem = _damage(run)
    if problem:
        found.problems.append(f"{run.place}: {problem}")
    else:
        found.runs.append(run)


def _damage(run: Run) -> str:
    """What is wrong with the files of a run, by the hashes that its manifest has of them."""
    data, hashes = run.manifest.get("data"), run.manifest.get("files") or {}
    if not isinstance(data, dict) or not isinstance(hashes, dict) or not data.get("name"):
        return f"{run.manifest_path.name} names no data set; evaluate again"
    for suffix in _READ:
        path = run.beside(suffix)
        if not path.is_file():
            return f"{path.name} is not there; evaluate again"
        if path.name in hashes and sha256_file(path) != hashes[path.name]:
            return (
                f"{path.name} is not the file that the manifest was written for; see what changed "
                "with medbench verify, or evaluate again"
            )
    return ""


def _not_evaluated(files: Sequence[PurePath]) -> Iterator[str]:
    evaluated = {
        it.with_name(it.name.removesuffix(MANIFEST_SUFFIX))
        for it in files
        if it.name.endswith(MANIFEST_SUFFIX)
    }
    for path in files:
        matched = _OF_OURS.fullmatch(path.stem)
        if path.suffix.lower() not in _TABLE_SUFFIXES or matched is None:
            continue
        if path.with_name(path.stem) in evaluated:
            continue
        if matched["model"].isdigit() and path.suffix == ".pkl":
            # Answers of one process, which VLMEvalKit joins at the end.
            yield f"predictions, but not finished: {path}; run the host again with --reuse"
        else:
            yield (
                f"predictions, but not evaluated: {path}; run medbench score, or the host again "
                "with --mode eval"
            )
