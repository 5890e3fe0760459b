"""Prompts with places to fill, and fences around text that somebody else wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..files import sha256_bytes

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_NONCE_LENGTH = 12


@dataclass(frozen=True)
class PromptTemplate:
    """A text with places, all filled in one pass: what is filled in can never become template.

    A place is written ``{{name}}``. Templates of other origin keep their own markers:
    ``PromptTemplate(text, {"reference": "[GOLDEN DESC]"})`` fills every occurrence of that marker.

    Raises:
        ValueError: the text has no place, or a marker does not occur in it.
    """

    text: str
    markers: Mapping[str, str] = field(default_factory=dict)
    """Field name to marker; empty: the ``{{name}}`` of the text."""

    def __post_init__(self) -> None:
        if not self._places:
            raise ValueError("expected a template with at least one {{name}}, got none")
        absent = [marker for marker in self._places if not marker or marker not in self.text]
        if absent:
            raise ValueError(f"expected every marker in the template, got none of {absent}")

    @cached_property
    def _places(self) -> dict[str, str]:
        if self.markers:
            return {marker: name for name, marker in self.markers.items()}
        return {match.group(0): match.group(1) for match in _PLACE.finditer(self.text)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Longest first, so that a marker which begins another one does not hide it.
        ordered = sorted(self._places, key=len, reverse=True)
        return re.compile("|".join(re.escape(marker) for marker in ordered))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names to be given to `fill`, in the order of their first place."""
        return tuple(sorted(self._places.values(), key=self._first_place))

    def _first_place(self, name: str) -> int:
        return min(
            self.text.find(marker) for marker, owner in self._places.items() if owner == name
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the template and its markers, for the record of a run."""
        markers = "".join(f"\0{name}\0{marker}" for name, marker in sorted(self.markers.items()))
        return sha256_bytes((self.text + markers).encode("utf-8", errors="surrogatepass"))

    def fill(self, **values: str) -> str:
        """The text with every place filled.

        Raises:
            ValueError: a field of the template is not given, or a name given is none of its fields.
        """
        missing = sorted(set(self.fields) - set(values))
        unknown = sorted(set(values) - set(self.fields))
        if missing or unknown:
            raise ValueError(
                f"expected the fields {sorted(self.fields)}, got {sorted(values)}; "
                f"missing {missing}, unknown {unknown}"
            )
        return self._pattern.sub(lambda match: values[self._places[match.group(0)]], self.text)


def fenced(text: str, label: str) -> str:
    """`text`, verbatim, between two delimiter lines that it cannot close.

    The delimiters carry a part of the text's own hash: the same text always gets the same fence
    (so a cached question stays the same question), and a text cannot contain its fence unless it
    was built around a hash of itself, in which case another hash is taken.
    """
    nonce = _nonce(text)
    return f"<<<{label} {nonce}>>>\n{text}\n<<<end of {label} {nonce}>>>"


def _nonce(text: str) -> str:
    encoded = text.encode("utf-8", errors="surrogatepass")
    digest = sha256_bytes(encoded)
    while digest[:_NONCE_LENGTH] in text:
        digest = sha256_bytes(digest.encode("ascii") + encoded)
    return digest[:_NONCE_LENGTH]
