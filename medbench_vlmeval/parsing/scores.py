"""Reading the scores a judge gave, in whatever form the judge wrote them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..types import Status
from .labels import Labels, is_generic_key, labels_of
from .lines import LineReader
from .marks import Mark, verdict
from .objects import object_marks
from .plain_text import folded, reply_text, without_markup, without_quotations
from .refusals import is_api_failure, is_refusal
from .scale import Scale
from .tables import table_marks
from .thinking import without_thinking
from .values import whole_value

_LONGEST_LABEL = 80


@dataclass(frozen=True)
class ScoreReading:
    """The scores of one judge reply: a value or None for every name asked for."""

    values: dict[str, float | None]
    status: Status


def read_scores(
    reply: object,
    names: Sequence[str],
    *,
    low: float,
    high: float,
    allowed: Collection[float] | None = None,
) -> ScoreReading:
    """The score a judge's reply gives to each of `names`, None where it gives no single usable one.

    Names are found without regard to case, markup and numbering; a value stands on the same line,
    in the same table row or JSON object, or under the name's heading. The judge's last verdict
    counts: a correction ("Actually, ...", "Final scores:") replaces what came before, a labelled
    line replaces earlier prose. Two different values without a correction give None, as do ranges,
    numbers off the scale or over another top, and words. The thinking part, quotations and restated
    scales are no verdicts. With one name, "Score: 2", "2" and "I rate this a 2" are enough.

    Args:
        reply: the judge's text; None and NaN are a missing reply, other objects are read as text.
        names: what the rubric asks for, e.g. ``("Editing Accuracy", "Visual Quality")``.
        low: smallest value of the scale.
        high: largest value, and the only denominator accepted.
        allowed: the values a rubric offers if not every number of the scale, e.g. ``(0, 1, 2)``.

    Returns:
        One entry per name. The status is ANSWER if all have a value, PARTIAL if some have; else it
        says why none has: MISSING, API_FAIL, TRUNCATED (a thinking part that never ends), REFUSAL
        or UNPARSED.

    Raises:
        ValueError: names that are empty or indistinct, or an impossible scale.

    Notes:
        Nothing is ever guessed, no default is filled in, and time is linear in the reply's length.
    """
    labels = labels_of(tuple(names))
    scale = Scale.of(low, high, allowed)
    nothing: dict[str, float | None] = dict.fromkeys(names)
    text = reply_text(reply)
    if not text.strip():
        return ScoreReading(nothing, Status.MISSING)
    if is_api_failure(text):
        return ScoreReading(nothing, Status.API_FAIL)
    text, is_cut = without_thinking(text)
    if is_cut:
        return ScoreReading(nothing, Status.TRUNCATED)
    values = _values(text, labels, scale)
    n_read = sum(value is not None for value in values.values())
    if n_read:
        return ScoreReading(values, Status.ANSWER if n_read == len(values) else Status.PARTIAL)
    return ScoreReading(nothing, Status.REFUSAL if is_refusal(text) else Status.UNPARSED)


def _values(reply: str, labels: Labels, scale: Scale) -> dict[str, float | None]:
    def is_label_or_value(content: str) -> bool:
        if len(content) > _LONGEST_LABEL:
            return False
        is_number = content.lstrip()[:1].isdigit() and whole_value(content, scale) is not None
        return is_number or labels.named(content) is not None or is_generic_key(content)

    in_objects, text = object_marks(folded(reply), labels, scale)
    text = without_markup(text, tag_label=labels.named)
    text = without_quotations(text, is_plain=is_label_or_value)
    lines = text.split("\n")
    in_tables, table_lines = table_marks(lines, labels, scale)
    reader = LineReader(labels, scale)
    reader.read(lines, skipped=table_lines)
    marks: dict[str, list[Mark]] = {name: [] for name in labels.names}
    for mark in (*in_objects, *in_tables, *reader.marks):
        marks[mark.name].append(mark)
    return {name: verdict(marks[name], reader.cues) for name in labels.names}
