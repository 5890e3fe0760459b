"""Verdicts in lines of running text, lists and headed sections."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .labels import GENERIC, Label, Labels
from .marks import Mark, Place, Strength, correction_cues, has_cue
from .scale import Found, Kind, Scale, read_number

_BLANKS = re.compile(r"[\s_\"'\[\]{})]*")
_CONNECTOR = re.compile(
    r"(?:[|:]|={1,3}>|-{1,3}>|→|⇒|=|-(?![0-9])|[~≈,](?=\s?[0-9])"
    r"|(?:scores?|ratings?|rated|grade|value|points|final|is|was|are|at|as|of|to|an?|about|around|"
    r"approximately|roughly|equals?|gets?|receives?|deserves?|earns?)(?![^\W_])"
    r"|分数|评分|得分|为|是)",
    re.IGNORECASE,
)
_SEPARATORS = frozenset("|:=")
_PARENTHESIS = re.compile(r"[(\[]([^()\[\]]{0,80})[)\]]")
_BOUND = re.compile(r"(?:[<>]=?|≤|≥|±)\s*[0-9]")
_BRACKETED = re.compile(r"<\s?(?=[0-9.,/| -]{1,20}>)")
_NO_VALUE = re.compile(
    r"[\W_]*(?:n\s?[/.]\s?a\b|na\b|none\b|null\b|not applicable\b)", re.IGNORECASE
)

_NUMBER_START = re.compile(
    r"(?<![\w.,/%-])[-+]?[0-9]"
    r"(?P<over>(?=[0-9.,]{0,9}[\])}\"'_]{0,3}\s?(?:/|(?:points? )?out of\b|of\b|on (?:a|the)\b)))?",
    re.IGNORECASE,
)
_RATING_VERB = re.compile(
    r"\b(?:rate[sd]?|rating|giv(?:e|es|en|ing)|gave|scor(?:e|es|ed|ing)|assign(?:s|ed|ing)?|"
    r"award(?:s|ed|ing)?|deserves?|merits?|earns?|receives?|grade[sd]?|grading)\b",
    re.IGNORECASE,
)
_RATING_OBJECT = re.compile(r"(?: [a-z'’\"…]+){0,6}[ :=\"'\[(]*", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|\w+n't|if|could|might|unless|instead|than|max\w*|min\w*|perfect|"
    r"deduct\w*|los[et]\w*|lost|subtract\w*|minus|drop\w*|at least|at most|up to|under|over|below|"
    r"above|previous\w*|originally|reference|ground)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;,:()!?|-]\s")
_CLAUSE_WINDOW = 80

_BULLET = re.compile(r"[\s>#+•·▪●○◦|\-]*")
_LIST_ITEM = re.compile(r"\W*[0-9]{1,2}[.)]\s+\S")
_VALUE_END = re.compile(r"[\s.!;,|]*$")
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
        reading = adjacent_value(line, _after_bullet(line), self.scale)
        if reading.kind not in (Kind.VALUE, Kind.UNUSABLE):
            return None
        fills_line = _VALUE_END.match(line, reading.end) is not None
        if self.is_heading_above and not _LIST_ITEM.match(line):
            return reading
        return reading if fills_line and reading.has_denominator else None

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


def _after_bullet(line: str) -> int:
    bullet = _BULLET.match(line)
    end = bullet.end() if bullet else 0
    # "-1" is a number, "- 1" an item.
    return end - 1 if end and line[end - 1] == "-" and line[end : end + 1].isdigit() else end


def whole_value(text: str, scale: Scale) -> Found | None:
    """The reading of a text that is nothing but one score, else None."""
    reading = adjacent_value(text, _after_bullet(text), scale)
    if reading.kind not in (Kind.VALUE, Kind.UNUSABLE):
        return None
    return reading if _VALUE_END.match(text, reading.end) else None


def adjacent_value(text: str, position: int, scale: Scale) -> Found:
    """What follows a label directly: only separators, brackets and linking words in between."""
    is_separated = False
    inside: Found | None = None
    while position < len(text):
        position = _skip(_BLANKS, text, position)
        position = _skip(_BRACKETED, text, position)
        parenthesis = _PARENTHESIS.match(text, position)
        connector = _CONNECTOR.match(text, position)
        if parenthesis:
            inside = _inside(parenthesis[1], parenthesis.end(), scale) or inside
            if inside is not None and inside.kind is Kind.UNUSABLE:
                return inside
            position = parenthesis.end()
        elif connector:
            is_separated = is_separated or connector[0] in _SEPARATORS
            position = connector.end()
        else:
            break
    reading = _number_at(text, position, scale)
    if reading.kind is Kind.SCALE and not is_separated:
        return adjacent_value(text, reading.end, scale)
    return _agreed(inside, reading)


def _inside(content: str, end: int, scale: Scale) -> Found | None:
    """What a parenthesis between label and value says: a value, another scale, or nothing."""
    if read_number(content, _skip(_BLANKS, content, 0), scale).kind is Kind.SCALE:
        return None
    reading = adjacent_value(content, 0, scale)
    if reading.kind is Kind.VALUE and _VALUE_END.match(content, reading.end):
        return Found(Kind.VALUE, end, reading.value, reading.has_denominator)
    if scale.states_other(content):
        return Found(Kind.UNUSABLE, end)
    return None


def _agreed(inside: Found | None, reading: Found) -> Found:
    if inside is None:
        return reading
    if reading.kind in (Kind.VALUE, Kind.UNUSABLE) and reading.value != inside.value:
        return Found(Kind.UNUSABLE, reading.end)
    return inside


def _number_at(line: str, position: int, scale: Scale) -> Found:
    if _BOUND.match(line, position):
        return Found(Kind.UNUSABLE, position)
    return read_number(line, position, scale)


def prose_value(text: str, position: int, scale: Scale, *, needs_cue: bool = False) -> Found | None:
    """The one score in a stretch of running text, None if there is none.

    A number counts if it stands over the top of the scale or after a rating verb, and if its clause
    does not deny it ("not 7/10"). Two different ones are unusable. With `needs_cue` the verb has to
    be there.
    """
    found: Found | None = None
    verb_ends = [verb.end() for verb in _RATING_VERB.finditer(text)]
    while start := _NUMBER_START.search(text, position):
        position = start.end()
        is_rated = _is_rated(text, start.start(), verb_ends, as_verb=needs_cue)
        if not is_rated and (needs_cue or start["over"] is None):
            continue
        reading = read_number(text, start.start(), scale)
        position = max(reading.end, position)
        is_score = reading.kind is Kind.VALUE and (is_rated or reading.has_denominator)
        if not is_score or _DENIAL.search(_clause_before(text, start.start())):
            continue
        if found is not None and found.value != reading.value:
            return Found(Kind.UNUSABLE, reading.end)
        found = reading
    return found


def _is_rated(text: str, start: int, verb_ends: Sequence[int], *, as_verb: bool) -> bool:
    """Whether a rating verb stands before `start` with nothing but its object in between.

    With `as_verb`, "score: 8" and "rating = 8" do not count: they may belong to any name.
    """
    nearest = bisect_right(verb_ends, start) - 1
    if nearest < 0 or start - verb_ends[nearest] > _CLAUSE_WINDOW:
        return False
    between = text[verb_ends[nearest] : start]
    if as_verb and (":" in between or "=" in between):
        return False
    return _RATING_OBJECT.fullmatch(between) is not None


def _clause_before(text: str, start: int) -> str:
    clause = text[max(0, start - _CLAUSE_WINDOW) : start]
    return _CLAUSE.split(clause)[-1]


def _skip(pattern: re.Pattern[str], line: str, position: int) -> int:
    match = pattern.match(line, position)
    return match.end() if match else position
