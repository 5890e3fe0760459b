"""Turns a row of MedSG-Bench into a line of our table, with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from ..files import sha256_bytes, to_plain
from .image_store import ImageStore
from .medsg_masks import mask_of
from .medsg_rows import MedSGRow, Size, answer_problems, read_size, target_of, text_of
from .store import Record

GUARDED_FIELDS = ("question", "additional_info", "answer", "declared_size_wh", "mask")
"""What may not change silently once a row is prepared, beside its images."""


def record_of(row: MedSGRow, store: ImageStore) -> Record:
    """The line of the table for one row, its images stored; ``case`` is still missing."""
    images, problems = store.add(row.images)
    question = text_of(row.fields.get("question"))
    additional_info = text_of(row.fields.get("additional_info"))
    target, target_by = target_of(row.task, question, additional_info)
    if not images:
        problems.append("no images named")
    if not question.strip():
        problems.append("question empty")
    if target is not None and target >= len(images):
        problems.append("the answer's image is not among the images")
        target, target_by = None, ""
    answer, size = row.fields.get("answer"), row.fields.get("size")
    shown_wh = _answer_size(images, target)
    need_format = row.fields.get("need_format")
    mask, mask_problems = mask_of(row, shown_wh)
    return {
        "index": row.index,
        "key": row.key,
        "task": row.task.key,
        "question": question,
        "additional_info": additional_info,
        "need_format": need_format if isinstance(need_format, bool) else None,
        # As the table will hold it, so that it compares equal with an earlier one.
        "answer": to_plain(answer),
        "declared_size_wh": to_plain(read_size(size)),
        "size_wh": to_plain(shown_wh or read_size(size)),
        **({"mask": mask.to_coco()} if mask else {}),
        "target_image": target,
        "target_by": target_by,
        "image_names": list(row.image_names),
        "images": images,
        "problems": [
            *row.problems,
            *problems,
            *mask_problems,
            *answer_problems(row.task, answer, size, shown_wh),
        ],
    }


def _answer_size(images: Sequence[Record | None], target: int | None) -> Size | None:
    """Size of the answer's image, or the one size that all images have; else `None`."""
    sizes = [(image or {}).get("size_wh") for image in images]
    if target is not None:
        shown = sizes[target]
    else:
        shown = sizes[0] if sizes and sizes.count(sizes[0]) == len(sizes) else None
    return None if shown is None else (shown[0], shown[1])


def mark_repeated(records: Sequence[Record]) -> None:
    """Add a problem to the rows that equal an earlier one; they are kept, as published."""
    seen: set[str] = set()
    for record in records:
        hashes = [(image or {}).get("sha256") for image in record["images"]]
        content = repr((record["task"], record["question"], record["answer"], hashes))
        digest = sha256_bytes(content.encode("utf-8", errors="replace"))
        if digest in seen:
            record["problems"].append("repeats an earlier row")
        seen.add(digest)
