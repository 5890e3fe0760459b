"""Pictures made elsewhere as predictions: no model, no host, only a folder of edited images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..data import MedEBenchData
from ..editing import (
    EditCollector,
    EditStore,
    StoredImage,
    edited_image_line,
    image_format,
    no_image_line,
    read_edit_reply,
    with_replicas,
)
from ..edits_folder import FolderIndex, FoundEdit, index_edits_folder
from ..files import write_jsonl_atomic
from ..images import ImageUnreadable, read_rgb
from ..naming import file_stem
from ..types import Status


@dataclass(frozen=True)
class PicturesFound:
    """A prediction file made from a folder, and what the folder lacked."""

    predictions: Path
    index: FolderIndex
    n_expected: int
    missing: tuple[int, ...]

    def lines(self) -> list[str]:
        """What a user should know, a line each."""
        found = self.n_expected - len(self.missing)
        lines = [f"{self.index.folder}: images for {found} of {self.n_expected} samples"]
        if self.missing:
            lines.append(f"missing, counted as no image: {_listed(self.missing)}")
        for identifier, names in sorted(self.index.ambiguous.items()):
            lines.append(f"sample {identifier}: several files, none used: {', '.join(names)}")
        copies = [i for i, edit in self.index.edits.items() if "also_lossy_copy" in edit.flags]
        if copies:
            lines.append(f"a JPEG or WebP beside the lossless file was not used: {_listed(copies)}")
        lines += self._replica_lines()
        lossy = [i for i, edit in self.index.edits.items() if "lossy" in edit.flags]
        if lossy:
            lines.append(f"lossy files, flagged: {_listed(lossy)}")
        if self.index.ignored:
            lines.append(
                f"names that mean no sample, ignored: {', '.join(self.index.ignored[:10])}"
            )
        return lines

    def _replica_lines(self) -> list[str]:
        further = {i: len(self.index.replicas(i)) for i in self.index.edits}
        lines = []
        if any(further.values()):
            n_samples = sum(1 for count in further.values() if count)
            lines.append(
                f"images from further seeds: {sum(further.values())}, of {n_samples} samples"
            )
        unused = self.index.unused()
        if unused:
            shown = ", ".join(unused[:10]) + (f" … ({len(unused)} in all)" * (len(unused) > 10))
            lines.append(f"not used, as a number before them is missing: {shown}")
        return lines


def predictions_from_folder(
    folder: Path, data: MedEBenchData, *, model: str, output: Path
) -> PicturesFound:
    """Write a prediction file for the pictures of `folder` and copy them beside it.

    Args:
        folder: official names ``{id}_0.png`` and the variants of `index_edits_folder`. Where
            ``{id}_1.png`` and so on lie beside them, they are taken as images of the same edit from
            other seeds; ``_0`` stays the one that is scored.
        data: the prepared benchmark.
        model: the name the pictures are scored under; may hold any character.
        output: folder for the run; the file is ``<model>_<data>.jsonl`` in it.

    Raises:
        NotADirectoryError: `folder` is not a folder.
    """
    index = index_edits_folder(folder)
    predictions = output / f"{file_stem(model, data.name)}.jsonl"
    collector = EditCollector(predictions, EditStore.default())
    rows: list[dict[str, Any]] = []
    missing: list[int] = []
    for sample in tqdm(data.samples, desc=f"Reading {model}", unit="sample"):
        found = index.edits.get(sample.id)
        if found is None:
            missing.append(sample.id)
        line = _line(sample.id, found, collector)
        others = [_image_line(further, collector)[0] for further in index.replicas(sample.id)]
        if read_edit_reply(line).stored is not None and others:
            line = with_replicas(line, others)
        rows.append({"index": str(sample.id), "prediction": line})
    write_jsonl_atomic(predictions, rows)
    return PicturesFound(predictions, index, len(rows), tuple(missing))


def _line(identifier: int, found: FoundEdit | None, collector: EditCollector) -> str:
    if found is None:
        return no_image_line(Status.MISSING, f"no usable file for sample {identifier}")
    line, reason = _image_line(found, collector)
    return no_image_line(Status.MISSING, reason) if line is None else line


def _image_line(found: FoundEdit, collector: EditCollector) -> tuple[str | None, str]:
    """The line of a picture that was put beside the predictions, or None and the reason."""
    data = found.path.read_bytes()
    try:
        size_wh = read_rgb(data).size_wh
    except ImageUnreadable as error:
        return None, f"{found.path.name}: {error}"
    edited, kind = collector.keep(data), image_format(data)
    if edited.sha256 is None or kind is None:
        return None, f"{found.path.name}: {edited.note}"
    return edited_image_line(StoredImage(edited.sha256, kind), size_wh=size_wh), ""


def _listed(identifiers: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(identifiers)[:20]))
    return shown if len(identifiers) <= 20 else f"{shown} … ({len(identifiers)} in all)"
