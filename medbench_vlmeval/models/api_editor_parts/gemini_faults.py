"""What an error of Gemini means, in the terms of `judging.faults`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .line import REFUSED_SETTING

if TYPE_CHECKING:
    from ...judging.faults import Failure

_BILLING = re.compile(r"\bbilling\b|\bprepa(?:y|id)|free[ -]tier", re.IGNORECASE)
_NOTHING_ALLOWED = re.compile(r"\blimit: 0\b(?!\.)")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s\Z")


def no_answer(message: str, *, status: int = 0, timed_out: bool = False) -> Failure:
    """The failure of a request that brought nothing that can be read."""
    from ...judging.faults import Failure

    return Failure(status, message, timed_out=timed_out)


def failure_of(error: Any) -> Failure:
    """What the service said when it refused a request.

    A bad key comes as 400, a used-up quota as 429 like a rate limit, and the pause asked for in the
    body and not in the headers; all three are put where other services have them.

    Args:
        error: ``google.genai.errors.APIError``.
    """
    from ...judging.faults import Failure

    status, message = int(error.code or 0), str(error.message or "")
    details = [*_details(error)]
    code = str(error.status or "")
    headers = _headers(error)
    if any(it.get("reason") == "API_KEY_INVALID" for it in details):
        status = 401
    elif status == 429 and _is_used_up(message, details):
        code = "insufficient_quota"
    elif status == 400 and code == "FAILED_PRECONDITION":
        code = "billing_not_active" if _BILLING.search(message) else REFUSED_SETTING
    pauses = (_SECONDS.match(str(it.get("retryDelay", ""))) for it in details)
    for pause in filter(None, pauses):
        headers.setdefault("retry-after", pause.group(1))
    return Failure(status, message, code=code, headers=headers)


def _is_used_up(message: str, details: list[Mapping[str, Any]]) -> bool:
    """Whether waiting a minute is no use: the day's quota is gone, or there never was one."""
    violations = [it for detail in details for it in detail.get("violations") or ()]
    per_day = any("PerDay" in str(it.get("quotaId", "")) for it in violations)
    return per_day or _NOTHING_ALLOWED.search(message) is not None


def _details(error: Any) -> Iterator[Mapping[str, Any]]:
    body = getattr(error, "details", None)
    if isinstance(body, list) and body:
        body = body[0]
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    listed = inner.get("details") if isinstance(inner, Mapping) else None
    for detail in listed if isinstance(listed, list) else ():
        if isinstance(detail, Mapping):
            yield detail


def _headers(error: Any) -> dict[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in dict(headers).items()}
