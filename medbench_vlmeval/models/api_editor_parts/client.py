"""How a client library is used: where it goes, for how long, and what it may say in the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedTooLong
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ...judging.settings import JudgeSettings
    from ..api_editor import ServiceNames

Result = TypeVar("Result")

_THREAD_NAME = "medbench-api-edit"
_CHATTY_LOGGERS = (
    "httpx", "httpx2", "openai._base_client", "google_genai.models", "google_genai._api_client",
)  # fmt: skip


def resolved(
    service: ServiceNames, model: str, base_url: str | None, key: str | None
) -> JudgeSettings:
    """Address and key as given, else from the environment, else the service's own.

    Raises:
        ValueError: an address that is neither http nor https.
    """
    from ...judging.settings import JudgeSettings

    whole = base_url or _first_set(service.addresses) or service.default
    address, mark, query = whole.partition("?")
    address = address.rstrip("/")
    for path in service.paths:
        address = address.removesuffix(path).rstrip("/")
    key = (key or "").strip() or _first_set(service.keys)
    return JudgeSettings(model=model, base_url=address + mark + query, api_key=key)


def _first_set(variables: Sequence[str]) -> str | None:
    found = (os.environ.get(name, "").strip() for name in variables)
    return next(filter(None, found), None)


def within(seconds: float, send: Callable[[], Result]) -> Result:
    """`send()`, given up after so many seconds: a client's own limit is for each silence only.

    Raises:
        Failure: (of `judging.faults`) it took longer.
    """
    from ...judging.faults import Failure

    pool = ThreadPoolExecutor(1, thread_name_prefix=_THREAD_NAME)
    future = pool.submit(send)
    try:
        return future.result(timeout=seconds)
    except WaitedTooLong:
        failure = Failure(0, f"{seconds:g} s", timed_out=True)
    finally:
        pool.shutdown(wait=False)
    raise failure


def quiet_clients() -> None:
    """Keep what client libraries say about our requests out of the log, below warnings."""
    for name in _CHATTY_LOGGERS:
        logging.getLogger(name).addFilter(_QUIET)


class _Quiet(logging.Filter):
    """It would be a line for each request with the whole address, which may hold credentials."""

    def filter(self, record: logging.LogRecord) -> bool:
        ours = str(record.threadName).startswith(_THREAD_NAME)
        return record.levelno >= logging.WARNING or not ours


_QUIET = _Quiet()
