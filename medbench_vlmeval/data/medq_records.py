"""Turns a row of MedQ-Bench into a line of our table, with everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from .image_store import ImageStore
from .medq_cells import image_roles
from .medq_columns import match_medq_columns, option_columns
from .medq_fields import (
    read_choice_answer,
    read_difficulty,
    read_level,
    read_options,
    read_scope,
    type_derived,
    type_named,
    whole_number,
)
from .medq_rows import MedQRow
from .medq_tables import Kind
from .store import DataWouldChange, Record

METADATA = ("question_type", "modality", "degradation", "level", "scope", "origin", "difficulty")
GUARDED_FIELDS = ("question", "options", "answer", "description", "extra", *METADATA)
"""What may not change silently once a row is prepared, beside its images and its index."""

CLEAN_LEVEL = "L0"
INDEX_REPEATED = "index repeated"


def medq_record_of(row: MedQRow, kind: Kind, store: ImageStore) -> Record:
    """The line of the table for one row, its images stored.

    ``id``, ``index`` and ``case`` are still missing: they depend on the other rows.
    """
    columns = dict(row.columns) or match_medq_columns(row.fields)
    cells = {field: row.fields.get(name, "") for field, name in columns.items()}
    images, problems = _images_of(row, kind, store)
    used = {*_METADATA_READERS, "index", "question"}
    record: Record = {"key": cells.get("index", "").strip(), "question": cells.get("question", "")}
    if kind in ("mcq", "deg"):
        choice, more = _choice_of(cells, row.fields, kind)
        used |= {"answer"} | (
            {"question_type"} if choice["question_type_by"] == "column" else set()
        )
    else:
        choice, more = _description_of(cells)
        used |= {"description"}
    record |= choice
    record |= {field: read(cells.get(field, "")) for field, read in _METADATA_READERS.items()}
    if kind == "deg" and not record["level"] and "good" in row.table.lower():
        record["level"] = CLEAN_LEVEL
    record["extra"] = _extra_of(row, kind, {columns[field] for field in used if field in columns})
    return record | {
        "table": row.table,
        "number": row.number,
        "images": images,
        "problems": [*row.problems, *problems, *more],
    }


_METADATA_READERS: Mapping[str, Callable[[str], str]] = {
    "modality": str.strip,
    "degradation": str.strip,
    "level": read_level,
    "scope": read_scope,
    "origin": str.strip,
    "difficulty": read_difficulty,
}


def _images_of(
    row: MedQRow, kind: Kind, store: ImageStore
) -> tuple[list[Record | None], list[str]]:
    expected = 2 if kind == "paired" else 1
    given = [*row.images, *[None] * (expected - len(row.images))]
    roles = image_roles(kind, len(given))
    stored, found = store.add(given, roles)
    # The reader of the table knows better than "missing" why an image is not there.
    explained = {role for role in roles for known in row.problems if known.startswith(f"{role} ")}
    problems = [
        problem
        for problem in found
        if not (problem.endswith(" missing") and problem.removesuffix(" missing") in explained)
    ]
    if len(given) > expected:
        problems.append(f"{len(given)} images, expected {expected}")
    hashes = [(image or {}).get("sha256") for image in stored]
    if kind == "paired" and hashes[0] and hashes[0] == hashes[1]:
        problems.append("both images are the same file")
    return stored, problems


def _choice_of(
    cells: Mapping[str, str], fields: Mapping[str, str], kind: Kind
) -> tuple[Record, list[str]]:
    question, options = cells.get("question", ""), read_options(fields)
    answer, wrong = read_choice_answer(cells.get("answer", ""), options)
    named = type_named(cells.get("question_type", ""))
    # Diagnosis questions of the robustness benchmark are of no type unless it says so.
    derived = "" if named or kind == "deg" else type_derived(question, options)
    problems = [wrong] if wrong else []
    if not question.strip():
        problems.append("question empty")
    if len(options) < 2:
        problems.append("fewer than two options")
    if kind == "mcq" and not (named or derived):
        problems.append("question type unclear")
    return {
        "options": options,
        "answer": answer,
        "description": None,
        "question_type": named or derived,
        "question_type_by": "column" if named else "derived" if derived else "",
    }, problems


def _description_of(cells: Mapping[str, str]) -> tuple[Record, list[str]]:
    description = cells.get("description") or None
    return {
        "options": {},
        "answer": None,
        "description": description,
        "question_type": "",
        "question_type_by": "",
    }, [] if description else ["description missing"]


def _extra_of(row: MedQRow, kind: Kind, used: set[str]) -> dict[str, str]:
    if kind in ("mcq", "deg"):
        used = used | set(option_columns(row.fields).values())
    extra = {name: cell for name, cell in row.fields.items() if name not in used}
    if kind != "deg" or not row.table:
        return extra
    own = {"table (column)": extra["table"]} if "table" in extra else {}
    return extra | own | {"table": row.table}


def add_id(record: Record, seen: Counter[str]) -> None:
    """Set ``id``, by which an earlier preparation's row is known again; `seen` counts them."""
    name = record["key"] or f"row {record['number']}"
    name = f"{record['table']}:{name}" if "table" in record["extra"] else name
    seen[name] += 1
    record["id"] = name if seen[name] == 1 else f"{name}#{seen[name]}"


def add_indices(records: Sequence[Record]) -> str:
    """Set ``index`` of every record and give a text that says what it is.

    It is the release's own where those are unique whole numbers, else the number of the row. Rows
    that share an index within one table get a problem.
    """
    numbers = [whole_number(record["key"]) for record in records]
    repeated = Counter((record["table"], record["key"]) for record in records if record["key"])
    for record in records:
        if repeated[record["table"], record["key"]] > 1:
            record["problems"].append(INDEX_REPEATED)
    usable = None not in numbers and len(set(numbers)) == len(numbers)
    for record, number in zip(records, numbers, strict=True):
        record["index"] = number if usable else record["number"]
        record["key"] = record["key"] or str(record["index"])
    if usable:
        return "that of the release"
    return "number of the row, from 0: the release has no unique whole numbers as index"


def refuse_new_indices(records: Sequence[Record], store: ImageStore) -> None:
    """Refuse to number rows otherwise than before: predictions are joined by index.

    Raises:
        DataWouldChange: the message names a row.
    """
    for record in records:
        earlier = store.earlier.get(record["id"], record)
        if earlier["index"] != record["index"] and not store.replace:
            raise DataWouldChange(
                f"{store.root} holds row {record['id']} as index {earlier['index']}, it would "
                f"become {record['index']}; pass --replace if no run made with the earlier data "
                "matters"
            )
