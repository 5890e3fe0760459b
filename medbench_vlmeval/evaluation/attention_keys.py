"""Which word's attention is scored for a sample: by rule, or as a file says."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..data import MedEBenchSample
from ..parsing.key_words import KeyWord, key_word

_INDEX_NAMES = ("index", "id")
_WORD_NAMES = ("token", "word", "key")


def keys_of(
    samples: Iterable[MedEBenchSample], given: Mapping[int, str] | None = None
) -> dict[int, KeyWord]:
    """The key word of each sample, by its id.

    Args:
        samples: their instructions decide, by `parsing.key_words.key_word`.
        given: words by sample id that take the place of the rule's.

    Raises:
        ValueError: a word is given for a sample that is not there.
    """
    words = {it.id: key_word(it.instruction, organ=it.organ) for it in samples}
    unknown = sorted(set(given or ()) - set(words))
    if unknown:
        raise ValueError(
            f"expected ids of the data set in the file of tokens, got {unknown[:10]}; remove them"
        )
    return words | {index: KeyWord(word, "given") for index, word in (given or {}).items()}


def read_keys(path: Path) -> dict[int, str]:
    """Words by sample id from a JSON object or a CSV file with the columns ``index`` and ``token``.

    Raises:
        ValueError: another form, an id twice, an id that is no number, or an empty word; the
            message names file and row.
    """
    text = path.read_text(encoding="utf-8-sig")
    pairs = _json_pairs(path, text) if path.suffix.lower() == ".json" else _csv_pairs(path, text)
    found: dict[int, str] = {}
    for where, index, word in pairs:
        if not str(index).strip().isdecimal() or not isinstance(word, str) or not word.strip():
            raise ValueError(
                f"{path}: {where}: expected a sample's id and a word, got {index!r} and {word!r}"
            )
        number = int(index)
        if number in found:
            raise ValueError(f"{path}: {where}: expected each id once, got {number} again")
        found[number] = word.strip()
    return found


def _json_pairs(path: Path, text: str) -> list[tuple[str, Any, Any]]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f'{path}: expected an object such as {{"34": "teeth"}}')
    return [(f"entry {index}", index, word) for index, word in value.items()]


def _csv_pairs(path: Path, text: str) -> list[tuple[str, Any, Any]]:
    rows = csv.DictReader(text.splitlines())
    names = {name.strip().casefold(): name for name in rows.fieldnames or () if name}
    index = next((names[name] for name in _INDEX_NAMES if name in names), None)
    word = next((names[name] for name in _WORD_NAMES if name in names), None)
    if index is None or word is None:
        raise ValueError(
            f"{path}: expected the columns index and token, got {', '.join(names) or 'none'}"
        )
    return [(f"line {rows.line_num}", row[index], row[word]) for row in rows]
