"""Our own wording of MedQ-Bench's prompts, for hosts that do not ship the benchmark's.

Structure after the protocol: the question with its lettered options and a request for the letter
alone; an expert's concise description that closes with a grade; a comparison that closes with the
better image. Numbers obtained with these prompts are not comparable with the published ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..files import sha256_bytes

CAPTION = (
    "You assess the technical quality of medical images. In three to five sentences, describe the "
    "low-level appearance of this image: what is shown, and sharpness, noise, contrast, exposure "
    "and artefacts, over the whole image and where they occur. End with exactly one sentence of "
    'this form, with one of the three words: "Overall, the quality of this image is '
    '[good/usable/reject]."'
)
PAIRED = (
    "You assess the technical quality of medical images. In three to five sentences, compare the "
    "low-level appearance of the two images: sharpness, noise, contrast, exposure and artefacts of "
    "the first image and of the second image. End with exactly one sentence of this form, with one "
    'of the two words: "Overall, the [first/second] image is of higher quality."'
)

_OPTION_LINE = re.compile(r"^\s*\(?([A-Z])[.):]\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class AskedPrompt:
    """What a model is asked in words, and whose words they are."""

    text: str
    origin: Literal["host", "own", "release"]
    """VLMEvalKit's class of the benchmark, ours, or the question of the released row."""


def choice_prompt(question: str, options: Mapping[str, str]) -> str:
    """A question with every option of its row, by letter."""
    lines = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    return (
        f"Look at this medical image and answer the question.\n\n{question}\n\n"
        f"Options:\n{lines}\n\nReply with the letter of one option and nothing else."
    )


def prompts_sha256(texts: Mapping[str, str]) -> dict[str, str]:
    """Hash of every text, for the record of a run."""
    return {name: sha256_bytes(text.encode("utf-8")) for name, text in texts.items()}


def options_in(prompt: str) -> dict[str, str]:
    """Letter to text for the option lines (``A. …``) of a prompt; for answerers without a model."""
    return dict(_OPTION_LINE.findall(prompt))
