"""Where questions go: an OpenAI-compatible server, or a judge object of VLMEvalKit."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import sys
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol
from urllib.parse import parse_qsl

from ..parsing import is_api_failure
from .calls import JudgeCall
from .faults import Failure
from .settings import KEYLESS, JudgeSettings

_CONNECT_SECONDS = 20.0
_CHATTY_LOGGERS = ("httpx", "httpx2", "openai._base_client")


class Endpoint(Protocol):
    """Sends one request and gives the response as parsed JSON, or raises `Failure`."""

    async def send(self, body: bytes, call: JudgeCall, extra: str) -> Any: ...

    async def __aenter__(self) -> Endpoint: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class ChatEndpoint:
    """An OpenAI-compatible server, reached through the official client with its retries off."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._openai = _openai()
        self._settings = settings
        self._client: Any = None
        self._quiet = _QuietThread()

    async def __aenter__(self) -> ChatEndpoint:
        settings = self._settings
        limit = settings.timeout_s
        self._client = self._openai.AsyncOpenAI(
            api_key=settings.api_key or KEYLESS,
            base_url=settings.url,
            default_query=dict(parse_qsl(settings.query)) or None,
            timeout=self._openai.Timeout(limit, connect=min(limit, _CONNECT_SECONDS)),
            max_retries=0,
        )
        for name in _CHATTY_LOGGERS:
            logging.getLogger(name).addFilter(self._quiet)
        self._takes_bytes = "content" in inspect.signature(self._client.post).parameters
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in _CHATTY_LOGGERS:
            logging.getLogger(name).removeFilter(self._quiet)
        await self._client.close()

    async def send(self, body: bytes, call: JudgeCall, extra: str) -> Any:
        """The response to `body`, parsed.

        Raises:
            Failure: the server answered with an error, or not at all.
        """
        try:
            return await self._within_time(self._post(body))
        except (asyncio.TimeoutError, self._openai.APITimeoutError) as error:
            # A connection that does not come about is no slow answer.
            connecting = type(error.__cause__).__name__ == "ConnectTimeout"
            failure = Failure(0, f"{self._settings.timeout_s:g} s", timed_out=not connecting)
        except self._openai.APIConnectionError as error:
            failure = Failure(0, _cause(error))
        except self._openai.APIStatusError as error:
            failure = _failure(error)
        except json.JSONDecodeError as error:
            failure = Failure(502, f"the response is not JSON ({error})")
        # Raised outside the except clauses: what they caught carries the request, key included.
        raise failure

    async def _within_time(self, response: Coroutine[Any, Any, Any]) -> Any:
        # The client's own limit is for each silence; a server that trickles would never meet it.
        if sys.version_info >= (3, 11):
            async with asyncio.timeout(self._settings.timeout_s):
                return await response
        return await asyncio.wait_for(response, self._settings.timeout_s)

    async def _post(self, body: bytes) -> Any:
        # Before 2.16 the client takes no bytes and encodes the request itself, at some cost.
        given = {"content": body} if self._takes_bytes else {"body": json.loads(body)}
        return await self._client.post("/chat/completions", cast_to=object, **given)


class _QuietThread(logging.Filter):
    """Drops what the client libraries say about every request made by the present thread.

    It would be a line per call with the whole address, which may hold credentials; older clients
    log the whole request as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.thread != self._thread


class HostEndpoint:
    """A judge object of VLMEvalKit: ``generate(message)`` in as many threads as there are lanes.

    The object does its own retries and returns a failure text instead of raising.
    """

    def __init__(self, host_judge: Any, lanes: int) -> None:
        self._judge = host_judge
        self._lanes = lanes

    async def __aenter__(self) -> HostEndpoint:
        self._threads = ThreadPoolExecutor(self._lanes, thread_name_prefix="medbench-host-judge")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=kind is None, cancel_futures=True)

    async def send(self, body: bytes, call: JudgeCall, extra: str) -> Any:
        """The answer in the form of a chat completion.

        Raises:
            Failure: the object returned its failure text, or nothing.
        """
        loop = asyncio.get_running_loop()
        message = host_message(call, extra)
        answer = await loop.run_in_executor(self._threads, self._judge.generate, message)
        text = answer.get("prediction") if isinstance(answer, Mapping) else answer
        if not isinstance(text, str) or is_api_failure(text):
            raise Failure(400, str(text)[:500], code="host_judge_failed")
        choice = {"message": {"content": text}, "finish_reason": ""}
        return {"choices": [choice], "model": str(getattr(self._judge, "model", "") or "")}


def host_message(call: JudgeCall, extra: str) -> list[dict[str, str]]:
    """The call as VLMEvalKit's list of parts, all messages in one, in order."""
    parts = [part for message in call.messages for part in message.parts]
    listed = [
        {"type": "text" if isinstance(part, str) else "image", "value": str(part)} for part in parts
    ]
    return [*listed, {"type": "text", "value": extra}] if extra else listed


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise ImportError('judging needs openai: pip install "medbench-vlmeval[judge]"') from error
    return openai


def _failure(error: Any) -> Failure:
    said = _error_object(error.body)
    message = said.get("message") or said.get("detail") or ""
    if not message and not said:
        message = error.response.text[:500]
    return Failure(
        error.status_code,
        str(message),
        code=str(said.get("code") or said.get("type") or ""),
        param=str(said.get("param") or ""),
        headers=dict(error.response.headers),
    )


def _error_object(body: Any) -> Mapping[str, Any]:
    # Servers wrap it differently: {"error": {...}}, [{"error": {...}}], {"detail": ...}.
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {"message": body} if isinstance(body, str) else {}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return inner
    return {"message": inner} if isinstance(inner, str) else body


def _cause(error: BaseException) -> str:
    # The client's own text is only "Connection error."; the reason is behind it.
    behind = error.__cause__ or error
    return str(behind) or type(behind).__name__
