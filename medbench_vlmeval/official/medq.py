"""The published scoring rules of MedQ-Bench.

MedQ-Bench: A Benchmark for Medical Image Quality Assessment, arXiv 2510.01691. The rules follow
VLMEvalKit, ``vlmeval/dataset/medqbench_caption.py`` and ``medqbench_paired_description.py``
(identical there), ``medqbench_mcq.py`` and ``medq_deg_bench.py`` for the letters of questions.
"""

from __future__ import annotations

import json
import re

from ..parsing.plain_text import reply_text

_LABELLED = re.compile(r"Score\s*[:：]\s*(?P<points>[012](?:\.\d+)?)")
_BARE = re.compile(r"[012](?:\.\d+)?")


def choice(reply: object) -> str:
    """The option that the published rule reads from a reply to a MedQ-Bench question.

    The first letter from A to D of the stripped and upper-cased reply that touches no other letter
    from A to Z. All patterns of the published code come to this: those for a lone letter and for a
    label at the start find the same letter, and the one for "answer is X" and "option X" never
    matches, because it is in lower case and applied to upper-cased text.

    Args:
        reply: the model's text; anything else is turned into text first.

    Returns:
        A capital letter, or the reply without blanks at its ends if nothing matches: compare it
        with the gold answer in upper case, as the published code does (so a lone "E" hits gold E).
        None and NaN give an empty text.

    Notes:
        The article of "A mild blur ..." is read as option A. The published code passes None and NaN
        on, and there a missing gold answer equals a missing reply; an empty text never hits. Our
        strict reading is `medbench_vlmeval.parsing.read_choice`.
    """
    return _published_letter(reply, "ABCD")


def deg_choice(reply: object) -> str:
    """The option that the published rule reads from a reply to a MedQ-Deg-Bench question.

    The rule of `choice` with the letters A to E.
    """
    return _published_letter(reply, "ABCDE")


def _published_letter(reply: object, letters: str) -> str:
    text = reply_text(reply).strip()
    # Upper-casing can make letters of other signs: "ı" becomes I, "ß" SS.
    isolated = re.search(rf"(?<![A-Z])[{letters}](?![A-Z])", text.upper())
    return isolated[0] if isolated else text


def score(reply: object) -> float | None:
    """The points that the published rule reads from a judge's reply, or None.

    In this order: the first ``Score: x`` whose x starts with 0, 1 or 2; the reply as JSON, a number
    in [0, 2] or an object with ``score`` or ``Score`` in that range; the reply as a bare number.
    Anything but text is turned into text first.

    Notes:
        Only the first digit is checked, so ``Score: 10`` gives 1.0, ``Score: 2.9`` gives 2.9, and
        JSON ``true`` gives 1.0. Bold marks, lower-case labels and "Score is 1" give None. Our
        strict reading is `medbench_vlmeval.parsing.read_scores`.
    """
    text = str(reply).strip()
    labelled = _LABELLED.search(text)
    if labelled:
        return float(labelled["points"])
    from_json = _json_points(text)
    if from_json is not None:
        return from_json
    return float(text) if _BARE.fullmatch(text) else None


def _json_points(text: str) -> float | None:
    try:
        value = json.loads(text)
        if isinstance(value, (int, float)):
            return _in_range(value)
        if isinstance(value, dict):
            found = (_in_range(value[key]) for key in ("score", "Score") if key in value)
            return next((points for points in found if points is not None), None)
    except (ValueError, TypeError, OverflowError, RecursionError):
        # The published rule falls through to the bare number whatever goes wrong here.
        return None
    return None


def _in_range(value: object) -> float | None:
    number = float(value)  # type: ignore[arg-type]
    return number if 0 <= number <= 2 else None
