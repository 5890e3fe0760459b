"""Reading and writing the text files of a run: atomic or append-only, never half a file."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

_HASH_BLOCK = 1 << 20


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path | str) -> str:
    """Hex SHA-256 of a file's bytes, read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def to_plain(value: Any) -> Any:
    """`value` rebuilt from the types JSON knows: dict, list, str, int, float, bool, None.

    numpy scalars and arrays, enums, dataclasses and paths are converted; NaN and infinity become
    ``None``, because they are not JSON and would read as a number elsewhere.

    Raises:
        TypeError: a type JSON has no form for.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return to_plain(value.tolist())
    if value is None or isinstance(value, (str, bool, int, float)):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    return _plain_container(value)


def _plain_container(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(item) for item in value)
    if isinstance(value, Iterable):
        return [to_plain(item) for item in value]
    raise TypeError(f"expected something JSON can hold, got {type(value).__name__}")


def json_line(record: Any) -> str:
    """`record` as one line of JSON, without the line break. Lone surrogates survive as escapes."""
    text = json.dumps(
        to_plain(record), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")
    )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(
            to_plain(record), ensure_ascii=True, allow_nan=False, separators=(", ", ": ")
        )
    return text


def write_bytes_atomic(path: Path | str, data: bytes) -> Path:
    """Write `data` so that a reader sees the old file or the new one, never a part."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _give_default_mode(temporary)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _give_default_mode(path: str) -> None:
    # mkstemp makes files only the owner can read; results are shared with colleagues.
    mask = os.umask(0)
    os.umask(mask)
    Path(path).chmod(0o666 & ~mask)


def write_text_atomic(path: Path | str, text: str) -> Path:
    """`write_bytes_atomic` for UTF-8 text; lone surrogates are replaced by ``?``."""
    return write_bytes_atomic(path, text.encode("utf-8", errors="replace"))


def write_json_atomic(path: Path | str, value: Any) -> Path:
    """Write `value` as indented JSON, atomically; see `to_plain` for what it accepts."""
    text = json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False, indent=2)
    return write_text_atomic(path, text + "\n")


def write_jsonl_atomic(path: Path | str, records: Iterable[Any]) -> Path:
    """Write one JSON line per record, atomically."""
    return write_text_atomic(path, "".join(json_line(record) + "\n" for record in records))


_INTERRUPTED = " <interrupted>"
"""Closes a line whose writer was killed; no line of JSON ends so."""


def append_jsonl(path: Path | str, record: Any) -> None:
    """Append one JSON line in a single write, so that several processes may share the file.

    A line that a killed process left unfinished is closed first, so it cannot swallow this one, and
    marked, so that `read_jsonl` knows what it is.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = (json_line(record) + "\n").encode("utf-8")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = _INTERRUPTED.encode("utf-8") + b"\n" + line
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read_jsonl(path: Path | str) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of a JSON-lines file, and warnings.

    An empty file gives no rows and a warning. An incomplete *last* line, or one that `append_jsonl`
    closed, is the trace of a killed process: it is dropped with a warning.

    Raises:
        ValueError: a line before the last one is not JSON; the message names file and line.
    """
    path = Path(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    # A mark alone closes nothing: a long line of another process was still being written.
    unmarked = ("", _INTERRUPTED.strip())
    numbered = [
        (number, line) for number, line in enumerate(lines, start=1) if line.strip() not in unmarked
    ]
    records: list[dict[str, Any]] = []
    warnings: list[str] = []
    if not numbered:
        warnings.append(f"{path}: no rows, the file is empty")
    for number, line in numbered:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            is_last = number == numbered[-1][0] and lines[-1] == line
            if is_last or line.endswith(_INTERRUPTED):
                which = "last line incomplete" if is_last else "line incomplete"
                warnings.append(
                    f"{path}: {which} (line {number}), dropped; the writer was probably killed"
                )
                continue
            raise ValueError(
                f"{path}: line {number} is not JSON ({error}); repair or remove that line"
            ) from error
    return records, warnings
