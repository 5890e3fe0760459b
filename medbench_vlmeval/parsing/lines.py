"""Verdicts in lines of running text, lists and headed sections."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .labels import GENERIC, Label, Labels
from .marks import Mark, Place, Strength, correction_cues, has_cue
from .scale import Found, Kind, Scale
from .values import adjacent_value, after_bullet, prose_value, whole_value

_NO_VALUE = re.compile(
    r"[\W_]*(?:n\s?[/.]\s?a\b|na\b|none\b|null\b|not applicable\b)", re.IGNORECASE
)

_LIST_ITEM = re.compile(r"\W*[0-9]{1,2}[.)]\s+\S")
_SECTION_END = re.compile(
    r"[\s#•\-]*(?:\d{1,2}[.)] )?"
    r"(?:overall|total|average|mean|final|summary|conclusion|in summary|sum)\b",
    re.IGNORECASE,
)
_SECTION_SCORE = re.compile(
    r"[\s>#+•·▪●○◦|\-\"'{]*(?:(?:my|the) )?(?:scores?|ratings?|grade|value|points|分数|评分|得分)"
    r"(?![^\W_])",
    re.IGNORECASE,
)


@dataclass
class LineReader:
    """Reads the lines of one reply from top to bottom.

    `pending` is the name whose heading stands above and whose value has not come yet.
    """

    labels: Labels
    scale: Scale
    marks: list[Mark] = field(default_factory=list)
    cues: list[Place] = field(default_factory=list)
    pending: str | None = None
    is_heading_above: bool = False

    def read(self, lines: Sequence[str], *, skipped: Collection[int] = ()) -> None:
        """Collect marks and cues of all lines but those `skipped`."""
        for number, line in enumerate(lines):
            if number in skipped:
                self.pending = None
                continue
            found = self.labels.in_line(line)
            spans = [(label.start, label.end) for label in found]
            self.cues += correction_cues(line, number, spans)
            if found:
                self._read_labelled(line, number, found)
            elif line.strip():
                self._read_unlabelled(line, number)
        self._read_bare_edges(lines)

    def _read_labelled(self, line: str, number: int, found: list[Label]) -> None:
        ends = [label.start for label in found[1:]] + [len(line)]
        for label, end in zip(found, ends, strict=True):
            reading, strength = self._value_of(line[label.start : end], label)
            if reading is not None:
                self._add(label, reading, strength, (number, label.start))
        opener = found[0]
        is_open = opener.opens_line and not any(
            mark.place[0] == number for mark in self.marks[-len(found) :]
        )
        self.pending = (opener.name or self.labels.single) if is_open else None
        self.is_heading_above = is_open and not line[opener.end :].strip(" :-*_\"'{[")

    def _value_of(self, segment: str, label: Label) -> tuple[Found | None, Strength]:
        """The value in `segment`, the text from this label up to the next one."""
        position = label.end - label.start
        adjacent = adjacent_value(segment, position, self.scale)
        strength = Strength.LABELLED if label.opens_line else Strength.PROSE
        if adjacent.kind is Kind.VALUE:
            return self._unless_corrected(segment, adjacent), strength
        if adjacent.kind is Kind.UNUSABLE:
            return adjacent, strength
        if adjacent.has_denominator:
            # "8/10 vs 9/10", "9 out of 10 moles": what comes next is no clearer.
            return None, strength
        if label.opens_line and _NO_VALUE.match(segment, position):
            return Found(Kind.UNUSABLE, position), Strength.LABELLED
        return prose_value(segment, max(adjacent.end, position), self.scale), Strength.PROSE

    def _unless_corrected(self, segment: str, reading: Found) -> Found:
        """`reading`, or unusable if the same segment takes it back: "8/10 (revised: 6/10)"."""
        if not has_cue(segment, reading.end):
            return reading
        later = prose_value(segment, reading.end, self.scale)
        is_other = later is not None and later.value != reading.value
        return Found(Kind.UNUSABLE, reading.end) if is_other else reading

    def _add(self, label: Label, reading: Found, strength: Strength, place: Place) -> None:
        name = label.name
        if name == GENERIC:
            if strength is not Strength.LABELLED or self.labels.single is None:
                return
            name, strength = self.labels.single, Strength.PROSE
        self.marks.append(Mark(name, reading.value, strength, place))

    def _read_unlabelled(self, line: str, number: int) -> None:
        if self.pending is not None:
            reading = self._section_value(line)
            if reading is not None:
                self.marks.append(Mark(self.pending, reading.value, Strength.LABELLED, (number, 0)))
                self.pending = None
            elif line.lstrip().startswith("#") or _SECTION_END.match(line):
                self.pending = None
            self.is_heading_above = False
        elif self.labels.single is not None:
            reading = prose_value(line, 0, self.scale, needs_cue=True)
            if reading is not None:
                mark = Mark(self.labels.single, reading.value, Strength.BARE, (number, 0))
                self.marks.append(mark)

    def _section_value(self, line: str) -> Found | None:
        """The value of the section this line belongs to, if the line gives one."""
        score = _SECTION_SCORE.match(line)
        if score:
            reading = adjacent_value(line, score.end(), self.scale)
            return reading if reading.kind in (Kind.VALUE, Kind.UNUSABLE) else None
        if self.is_heading_above and not _LIST_ITEM.match(line):
            reading = adjacent_value(line, after_bullet(line), self.scale)
            return reading if reading.kind in (Kind.VALUE, Kind.UNUSABLE) else None
        whole = whole_value(line, self.scale)
        return whole if whole is not None and whole.has_denominator else None

    def _read_bare_edges(self, lines: Sequence[str]) -> None:
        """A first or last line that is nothing but a value, where only one value was asked for."""
        name = self.labels.single
        filled = [number for number, line in enumerate(lines) if line.strip()]
        if name is None or not filled:
            return
        for number in {filled[0], filled[-1]}:
            reading = whole_value(lines[number], self.scale)
            if reading is not None and not any(mark.place[0] == number for mark in self.marks):
                self.marks.append(Mark(name, reading.value, Strength.BARE, (number, 0)))
