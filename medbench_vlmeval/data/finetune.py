"""Exports training triplets for diffusers' InstructPix2Pix script, and says what to test after it.

Beside the training images an export holds ``train_ids.txt``, ``held_out_ids.txt`` (what may be
tested), ``leaked_ids.txt`` (what must not, with the reason) and ``manifest.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..files import json_line, write_json_atomic, write_text_atomic
from .finetune_files import FORMATS, remove_others, write_imagefolder, write_parquet
from .finetune_report import KIND, FineTuneReport, finetune_manifest
from .finetune_split import FineTuneSplit, split_samples
from .medebench import MedEBenchData, MedEBenchSample, load_medebench
from .places import MANIFEST_NAME, RELEASE_NAME


def export_finetune(
    folder: Path,
    *,
    data: str = RELEASE_NAME,
    shots: int | None = None,
    tasks: Sequence[str] = (),
    organs: Sequence[str] = (),
    seed: int = 0,
    format: str = "imagefolder",
    replace: bool = False,
    root: Path | None = None,
    progress: bool = True,
) -> FineTuneReport:
    """Write training triplets and the lists of what may be tested after training on them.

    Args:
        folder: where to; empty, new, or an earlier export. A killed export is continued by
            running it again.
        data: a prepared MedEBench data set.
        shots: training samples per task; None for as many as the rule allows, see
            `finetune_split.RULE`.
        tasks: only these tasks; all of them by default. Case and a final dot do not matter.
        organs: only these organs; all of them by default.
        seed: of the choice.
        format: ``imagefolder`` keeps the files' own bytes; ``parquet`` needs pyarrow.
        replace: allow that another export in `folder` is overwritten.
        root: Data folder; default `lmu_root()`.
        progress: show a progress bar.

    Raises:
        DataNotPrepared: there is no such data set.
        FileExistsError: `folder` holds another export and `replace` is false, or something else.
        ValueError: an unknown task, organ or format, nothing to train on, or an image that changed.
        ImportError: parquet without pyarrow.
    """
    if format not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)} as format, got {format!r}")
    prepared = load_medebench(data, root)
    chosen = _chosen(prepared, tasks, organs)
    split = split_samples(prepared.samples, (it.id for it in chosen), shots=shots, seed=seed)
    if not split.train:
        raise ValueError(_nothing_to_train_on(split))
    manifest = finetune_manifest(prepared, chosen, split, shots=shots, seed=seed, format=format)
    _refuse_other_export(folder, manifest["request"], replace=replace)
    write_json_atomic(folder / MANIFEST_NAME, manifest)
    training = [prepared.sample(identifier) for identifier in split.train]
    write = write_imagefolder if format == "imagefolder" else write_parquet
    names = write(folder, _shown(training, progress))
    remove_others(folder, names)
    _write_lists(folder, split)
    write_json_atomic(folder / MANIFEST_NAME, manifest | {"complete": True})
    return FineTuneReport(folder, split, shots, len(prepared.samples) - len(chosen))


def read_id_list(path: Path) -> list[int]:
    """The ids of a list that an export wrote, or that a person did: one a line.

    What follows an id after a tab, empty lines, and lines that begin with ``#`` are ignored.

    Raises:
        ValueError: a line without an id, an id twice, or no id at all.
    """
    ids: list[int] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        word = line.partition("\t")[0].strip()
        if not word or word.startswith("#"):
            continue
        if not (word.isascii() and word.isdigit()) or int(word) in ids:
            raise ValueError(
                f"{path}, line {number}: expected an id that was not there before, got {word!r}"
            )
        ids.append(int(word))
    if not ids:
        raise ValueError(f"expected ids in {path}, one a line, got none")
    return ids


def _shown(samples: Sequence[MedEBenchSample], progress: bool) -> Iterable[MedEBenchSample]:
    from tqdm import tqdm

    return tqdm(samples, desc="exporting", unit="sample", disable=not progress)


def _chosen(
    data: MedEBenchData, tasks: Sequence[str], organs: Sequence[str]
) -> list[MedEBenchSample]:
    known_tasks = _known("task", tasks, {sample.task for sample in data.samples})
    known_organs = _known("organ", organs, {sample.organ for sample in data.samples})
    chosen = [it for it in data.samples if it.task in known_tasks and it.organ in known_organs]
    if not chosen:
        raise ValueError(
            f"expected tasks of the organs chosen, got none in {data.name}; "
            "leave --organ or --task out"
        )
    return chosen


def _known(what: str, wanted: Sequence[str], known: set[str]) -> set[str]:
    """Those of `known` that are wanted; all of them when none is named."""
    by_key: dict[str, set[str]] = {}
    for name in known:
        by_key.setdefault(_key(name), set()).add(name)
    for name in wanted:
        if _key(name) not in by_key:
            close = get_close_matches(_key(name), by_key, n=3, cutoff=0.4) or sorted(by_key)[:10]
            listed = "; ".join(repr(min(by_key[key])) for key in close)
            raise ValueError(f"expected a known {what} such as {listed}, got {name!r}")
    return set().union(*(by_key[_key(name)] for name in wanted)) if wanted else known


def _key(name: str) -> str:
    return " ".join(name.casefold().split()).rstrip(".")


def _nothing_to_train_on(split: FineTuneSplit) -> str:
    largest = max(it.n_samples for it in split.tasks)
    return (
        "expected tasks of two or more usable samples, since at most half of a task's samples are "
        f"trained on; got {len(split.tasks)} tasks of at most {largest} samples, "
        f"{len(split.unusable)} of them unusable; choose other tasks or another data set"
    )


def _refuse_other_export(folder: Path, request: dict[str, Any], *, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and _is_empty(folder)):
        return
    earlier = _earlier_manifest(folder / MANIFEST_NAME)
    if earlier is None:
        raise FileExistsError(
            f"expected a new or empty folder or an earlier export, got {folder}, which holds "
            "something else; give another --out"
        )
    if json_line(earlier.get("request")) != json_line(request) and not replace:
        raise FileExistsError(
            f"{folder} already holds another export (other data, shots, tasks, organs, seed or "
            "format); give another --out, or pass --replace if nothing needs it any more"
        )


def _is_empty(folder: Path) -> bool:
    # A writer that was killed leaves an unfinished file.
    return all(path.name.endswith(".part") for path in folder.iterdir())


def _earlier_manifest(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(manifest, dict) and manifest.get("kind") == KIND
    return manifest if is_ours else None


def _write_lists(folder: Path, split: FineTuneSplit) -> None:
    for name, ids in (("train", split.train), ("held_out", split.held_out)):
        write_text_atomic(folder / f"{name}_ids.txt", "".join(f"{number}\n" for number in ids))
    leaked = "".join(f"{number}\t{reason}\n" for number, reason in split.leaked.items())
    write_text_atomic(folder / "leaked_ids.txt", leaked)
