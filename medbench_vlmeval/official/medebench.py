"""The published rules and counts of MedEBench.

MedEBench, arXiv 2506.01921, EMNLP 2025 Findings ("Diagnosing Reliability ..."; first versions
"Revisiting ..."). The judge's reply is read as in the released code,
``src/eval_metrics/evaluate_gpt4o.py``; organs and counts are those of the released metadata and of
the project page.
"""

from __future__ import annotations

import re

JUDGED: tuple[str, str, str] = ("Editing Accuracy", "Contextual Preservation", "Visual Quality")
"""The three scores asked of the judge, raw 0-10, in the order of the released instructions."""

UNREADABLE = -1.0
"""What the released code stores for all three scores when one of them could not be read."""

ORGAN_COUNTS: dict[str, int] = {
    "Ears": 49,
    "Eyes": 157,
    "Face": 118,
    "Feet": 32,
    "Gastrointestinal Tract": 24,
    "Hair": 171,
    "Hands": 26,
    "Mouth": 31,
    "Nose": 148,
    "Skin": 288,
    "Spine and Bones": 20,
    "Teeth": 82,
    "Torso": 36,
}
"""Samples per organ, 1,182 in all; printed in the project page's figure on mask failures."""

ORGANS: tuple[str, ...] = tuple(ORGAN_COUNTS)
"""The thirteen values of the metadata field ``Organ``."""

# Figures and tables of the paper and the project page shorten two of the labels.
_ORGAN_VARIANTS = {
    "bone": "Spine and Bones",
    "bones": "Spine and Bones",
    "spine": "Spine and Bones",
    "spine bones": "Spine and Bones",
    "gi": "Gastrointestinal Tract",
    "gi tract": "Gastrointestinal Tract",
    "gastrointestinal": "Gastrointestinal Tract",
    "ear": "Ears",
    "eye": "Eyes",
    "foot": "Feet",
    "hand": "Hands",
    "tooth": "Teeth",
}


def canonical_organ(label: str) -> str | None:
    """The organ a label means, as one of `ORGANS`; None for a label nobody has used for one.

    Case, surrounding blanks and punctuation do not matter; ``Spine``, ``Bones``, ``Spine/Bones``,
    ``GI Tract`` and singular forms are known. Nothing is guessed from similarity.
    """
    words = re.sub(r"[\W_]+", " ", label).strip().casefold()
    by_words = {organ.casefold(): organ for organ in ORGANS} | _ORGAN_VARIANTS
    return by_words.get(words)


def judge_scores(reply: object) -> dict[str, float]:
    """The three scores as the released code stores them: raw 0-10, all -1.0 if any is unreadable.

    Line by line (split at line feeds): the first of `JUDGED` that the line contains gets the text
    between the line's first and second colon, up to a slash, as a float. Lines that give no float
    are skipped, later lines overwrite earlier ones.

    Notes:
        There is no range check: ``85`` is kept, ``nan`` too. Unreadable are "**Editing Accuracy:**
        7/10", "[7]/10", full-width colons, tables, JSON and lower-case names. A score of -1 counts
        as unreadable. Our strict reading is `medbench_vlmeval.parsing.read_scores`.
    """
    scores = dict.fromkeys(JUDGED, UNREADABLE)
    for line in reply.split("\n") if isinstance(reply, str) else ():
        name = next((name for name in JUDGED if name in line), None)
        value = _after_colon(line)
        if name is not None and value is not None:
            scores[name] = value
    if UNREADABLE in scores.values():
        return dict.fromkeys(JUDGED, UNREADABLE)
    return scores


def _after_colon(line: str) -> float | None:
    parts = line.split(":", maxsplit=2)
    if len(parts) < 2:
        return None
    try:
        return float(parts[1].split("/", maxsplit=1)[0].strip())
    except ValueError:
        return None
