"""A local OpenAI-compatible server that answers by script, for tests and benchmarks.

In a test::

    with JudgeServer(lambda request: Answer.says("Score: 2")) as server:
        settings = JudgeSettings(model="judge", base_url=server.base_url)
        ...
        assert server.calls == 1

A script is any callable from `Request` to `Answer`; `ByRow` plays lists of answers row by row.
As a program, in a process of its own, it answers every request after a fixed time and reports its
counts on ``GET /stats``: ``python server.py --latency 0.2``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

ROW_MARK = re.compile(r"\brow (\d+)\b")


@dataclass(frozen=True)
class Answer:
    """What the server sends back. `times`: how often, in a list of answers; `None`: for ever."""

    status: int = 200
    json: Any = None
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    times: int | None = 1
    drop: bool = False
    """Close the connection without an answer."""

    @classmethod
    def says(cls, content: Any, **message: Any) -> Answer:
        """A chat completion with this content."""
        choice = {"finish_reason": "stop", "message": {"content": content, **message}}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return cls(json={"model": "judge-2026-01-01", "choices": [choice], "usage": usage})

    @classmethod
    def from_case(cls, case: Mapping[str, Any]) -> Answer:
        """An answer as the case files write it."""
        return cls(
            status=case["status"],
            json=case.get("json"),
            text=case.get("text", ""),
            headers=case.get("headers", {}),
            delay_s=case.get("delay_s", 0.0),
            times=None if case.get("repeat") else case.get("times", 1),
        )

    @cached_property
    def encoded(self) -> bytes:
        """The whole HTTP response."""
        kind = "text/plain" if self.json is None else "application/json"
        body = (self.text if self.json is None else json.dumps(self.json)).encode()
        lines = [
            f"HTTP/1.1 {self.status} X",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @cached_property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def text(self) -> str:
        """All text of all messages, one part a line."""
        return "\n".join(_texts(message["content"]) for message in self.json["messages"])

    @property
    def row(self) -> int:
        """The number behind the word "row" in the text; 0 without one."""
        found = ROW_MARK.search(self.text)
        return int(found.group(1)) if found else 0


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


Script = Callable[[Request], Answer]


class ByRow:
    """Plays a list of answers for each row, in order; the last one of a list stays for ever."""

    def __init__(
        self, rows: Mapping[int, Sequence[Answer]], default: Sequence[Answer] = ()
    ) -> None:
        self._left = {row: self._unrolled(answers) for row, answers in rows.items()}
        self._default = default

    def __call__(self, request: Request) -> Answer:
        left = self._left.setdefault(request.row, self._unrolled(self._default))
        if not left:
            return Answer(599, text=f"no answer is scripted for row {request.row}")
        return left.pop(0) if len(left) > 1 else left[0]

    @staticmethod
    def _unrolled(answers: Sequence[Answer]) -> list[Answer]:
        return [answer for answer in answers for _ in range(answer.times or 1)]


class JudgeServer:
    """The server in a thread of its own, on a free port of 127.0.0.1, as a context manager."""

    def __init__(self, script: Script, *, latency_s: float = 0.0, keep_bodies: bool = True) -> None:
        self._script = script
        self._latency_s = latency_s
        self._keep_bodies = keep_bodies
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._under_way = 0
        self.connections: set[_Connection] = set()
        self.requests: list[Request] = []
        self.calls = 0
        self.peak_concurrency = 0
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> JudgeServer:
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self.serve(),))
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    async def serve(self, port: int = 0) -> None:
        """Serve until `__exit__`, or for ever as a program."""
        self._end = asyncio.Event()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        # A connection that was just being accepted is a task first and one of ours later; what is
        # cancelled in between keeps its socket.
        while self.connections or asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in list(self.connections):
                connection.abort()
            await asyncio.sleep(0.001)

    async def answer(self, connection: _Connection, request: Request) -> None:
        """Count the request and send what the script says."""
        if request.path.endswith("/stats"):
            connection.send(Answer(json=self.stats()))
            return
        self.calls += 1
        self._under_way += 1
        self.peak_concurrency = max(self.peak_concurrency, self._under_way)
        if self._keep_bodies:
            self.requests.append(request)
        try:
            answer = self._script(request)
            await asyncio.sleep(self._latency_s + answer.delay_s)
        finally:
            self._under_way -= 1
        connection.send(answer)

    def stats(self) -> dict[str, float]:
        """Counts, and the CPU time of this process."""
        return {
            "calls": self.calls,
            "peak_concurrency": self.peak_concurrency,
            "cpu_s": time.process_time(),
        }

    @property
    def keeps_bodies(self) -> bool:
        return self._keep_bodies


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with Content-Length, kept alive: all that a chat completion needs."""

    def __init__(self, server: JudgeServer) -> None:
        self._server = server
        self._buffer = bytearray()
        self._head: tuple[str, dict[str, str]] | None = None
        self._missing = 0
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._server.connections.add(self)

    def abort(self) -> None:
        self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._head is None:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = _parsed_head(bytes(self._buffer[:end]))
            self._missing = int(self._head[1].get("content-length", 0))
            data = bytes(self._buffer[end + 4 :])
            self._buffer.clear()
        self._missing -= len(data)
        if self._server.keeps_bodies:
            self._buffer += data
        if self._missing <= 0:
            path, headers = self._head
            request = Request(path, headers, bytes(self._buffer), time.monotonic())
            self._head = None
            self._buffer.clear()
            self._task = asyncio.ensure_future(self._server.answer(self, request))

    def send(self, answer: Answer) -> None:
        if answer.drop:
            self._transport.abort()
        elif not self._transport.is_closing():
            self._transport.write(answer.encoded)


def _parsed_head(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first.split(" ")[1], {name.lower(): value.strip() for name, _, value in pairs}


def main() -> None:
    """Serve one reply for ever; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--reply", default="Score: 2")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    answer = Answer.says(arguments.reply)
    server = JudgeServer(lambda _: answer, latency_s=arguments.latency, keep_bodies=False)

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve(arguments.port))
        while not server.port:
            await asyncio.sleep(0.01)
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        await serving

    asyncio.run(run())


if __name__ == "__main__":
    main()
