"""Replies that are no attempt: refusals, and the texts a failed call leaves behind."""

from __future__ import annotations

import re

from .plain_text import folded
from .refusal_phrases import (
    APOLOGY,
    DECLINES,
    FOREIGN_APOLOGY,
    LEAD_ON,
    NOT_A_REFUSAL,
    REDIRECTS,
    RESUMES,
)

_LONGEST_REFUSAL = 900
_API_FAILURE = re.compile(r"failed to obtain answer(?![\w-])", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")


def is_api_failure(text: str) -> bool:
    """Whether the text starts with the host's mark of a failed call, long or short form.

    Nothing else in the text matters: error messages may hold letters and numbers that look like an
    answer.
    """
    return _API_FAILURE.match(text.lstrip()) is not None


def is_refusal(text: str) -> bool:
    """Whether the reply declines the task and gives nothing else.

    The refusal has to come first and the rest may only apologise, redirect or explain it, so that a
    disclaimer before an answer does not turn it into a refusal; a reply of more than 900 characters
    never is one. English, and the common forms in Chinese, German, French and Spanish. Doubtful
    texts ("I cannot tell from this image", "I cannot see any artifact") are not refusals.
    """
    if len(text) > _LONGEST_REFUSAL:
        return False
    plain = folded(text).replace("’", "'").replace("*", "").casefold()
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(plain)]
    sentences = [_without_apologies(sentence) for sentence in sentences]
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences or not _declines(sentences[0]):
        return False
    return all(_declines(sentence) or _redirects(sentence) for sentence in sentences[1:])


def _without_apologies(sentence: str) -> str:
    while apology := APOLOGY.match(sentence) or FOREIGN_APOLOGY.match(sentence):
        rest = sentence[apology.end() :]
        lead_on = LEAD_ON.match(rest)
        sentence = rest[lead_on.end() :] if lead_on else rest
    return sentence


def _declines(sentence: str) -> bool:
    declines = any(pattern.match(sentence) for pattern in DECLINES)
    return declines and not NOT_A_REFUSAL.search(sentence)


def _redirects(sentence: str) -> bool:
    return REDIRECTS.search(sentence) is not None and RESUMES.match(sentence) is None
