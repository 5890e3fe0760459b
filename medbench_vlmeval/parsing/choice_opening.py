"""What is settled about a reply before anything is read in it."""

from __future__ import annotations

from ..types import Status
from .plain_text import reply_text
from .refusals import is_api_failure
from .thinking import without_thinking


def opened(reply: object) -> tuple[str, Status | None]:
    """The reply without its thinking part, or an empty text and why there is nothing to read.

    Args:
        reply: a model's text; None, NaN and blank text are MISSING, the text of a failed call is
            API_FAIL, a thinking part that never ends TRUNCATED.
    """
    text = reply_text(reply)
    if not text.strip():
        return "", Status.MISSING
    if is_api_failure(text):
        return "", Status.API_FAIL
    text, is_cut = without_thinking(text)
    return ("", Status.TRUNCATED) if is_cut else (text, None)
