"""Local servers that speak the two image protocols and answer by script.

In a test::

    with OpenAIServer(Script({1: [rate_limited(0.1), edited()]})) as server:
        editor = OpenAIImagesEditor(base_url=server.base_url, api_key=KEY)
        ...
        assert server.calls == 2

A script has a list of answers for each row, played in order; the last one of a list stays. The row
of a request is the number behind "row" in its words, or what `row_of` makes of it.
"""

from __future__ import annotations

import base64
import io
import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from PIL import Image, ImageOps

KEY = "sk-test-0123456789abcdef-do-not-store"
_ROW = re.compile(r"\brow (\d+)\b")


@dataclass(frozen=True)
class Request:
    """One edit as it came over the line."""

    path: str
    headers: Mapping[str, str]
    model: str
    words: str
    images: tuple[bytes, ...]
    fields: Mapping[str, Any]
    """Multipart fields beside the images, or the JSON body."""
    at: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> str:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return bearer or self.headers.get("x-goog-api-key", "")


@dataclass(frozen=True)
class Answer:
    """What a server sends back; `image` and `words` take the form of the protocol."""

    status: int = 200
    image: Callable[[Request], bytes] | None = None
    words: str = ""
    json: Any = None
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False
    """Reset the connection without an answer."""
    trickle: bool = False
    """Send a byte now and then, for ever."""
    finish: str = ""
    """Gemini: the finish reason."""
    by_url: str = ""
    """OpenAI: name the image by this address."""
    broken: bool = False
    """The base64 text is damaged."""


def negative(request: Request) -> bytes:
    """The edit that the servers make: the last image's negative, as PNG."""
    with Image.open(io.BytesIO(request.images[-1])) as image:
        return png_of(ImageOps.invert(image.convert("RGB")))


def png_of(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def edited(**options: Any) -> Answer:
    return Answer(image=negative, **options)


def one_pixel() -> Answer:
    return Answer(image=lambda request: png_of(Image.new("RGB", (1, 1))))


class Script:
    """Answers by row; thread-safe."""

    def __init__(
        self,
        rows: Mapping[Any, Sequence[Answer]] | None = None,
        default: Sequence[Answer] = (),
        row_of: Callable[[Request], Any] | None = None,
    ) -> None:
        self._left = {row: list(answers) for row, answers in (rows or {}).items()}
        self._default = list(default) or [edited()]
        self._row_of = row_of or _numbered
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Answer:
        with self._lock:
            row = self._row_of(request)
            left = self._left.setdefault(row, list(self._default))
            return left.pop(0) if len(left) > 1 else left[0]


def _numbered(request: Request) -> int:
    found = _ROW.search(request.words)
    return int(found.group(1)) if found else 0


class ImageServer:
    """A server on a free port of this machine; what it was asked is in `requests`."""

    def __init__(self, script: Callable[[Request], Answer], *, key: str | None = KEY) -> None:
        self.script = script
        self.key = key
        self.requests: list[Request] = []
        self.under_way = 0
        self.most_under_way = 0
        self.files: dict[str, bytes] = {}
        """What `GET` serves by path."""
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def calls(self) -> int:
        return len(self.requests)

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def parsed(self, path: str, headers: Mapping[str, str], body: bytes) -> Request:
        raise NotImplementedError

    def body(self, answer: Answer, request: Request) -> Any:
        raise NotImplementedError

    def bad_key(self, request: Request) -> Answer:
        raise NotImplementedError


class OpenAIServer(ImageServer):
    """``POST /v1/images/edits``, multipart."""

    @property
    def base_url(self) -> str:
        return super().base_url + "/v1"

    def parsed(self, path: str, headers: Mapping[str, str], body: bytes) -> Request:
        assert path.partition("?")[0] == "/v1/images/edits", path
        boundary = headers["content-type"].partition("boundary=")[2].strip('"').encode()
        fields: dict[str, Any] = {"files": []}
        images: list[bytes] = []
        for part in body.split(b"--" + boundary)[1:-1]:
            head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            content = content.removesuffix(b"\r\n")
            name = re.search(rb'name="([^"]*)"', head).group(1).decode()  # type: ignore[union-attr]
            if b"filename=" in head:
                assert name in ("image", "image[]"), name
                images.append(content)
                fields["files"].append((name, head.decode()))
            else:
                fields[name] = content.decode()
        assert images, "an edit needs an image"
        return Request(path, headers, fields["model"], fields["prompt"], tuple(images), fields)

    def body(self, answer: Answer, request: Request) -> Any:
        if answer.image is None:
            return None
        data = answer.image(request)
        encoded = base64.b64encode(data).decode()
        entry = {"url": answer.by_url} if answer.by_url else {"b64_json": encoded}
        if answer.broken:
            entry = {"b64_json": encoded[:50] + "!!" + encoded[53:]}
        usage = {
            "input_tokens": 400,
            "input_tokens_details": {"text_tokens": 50, "image_tokens": 350},
            "output_tokens": 1000,
            "total_tokens": 1400,
        }
        return {"created": 1, "data": [entry], "size": "1024x1024", "usage": usage}

    def bad_key(self, request: Request) -> Answer:
        return openai_error(401, "invalid_api_key", f"Incorrect API key provided: {request.key}.")


class GeminiServer(ImageServer):
    """``POST /v1beta/models/<model>:generateContent``, JSON."""

    def parsed(self, path: str, headers: Mapping[str, str], body: bytes) -> Request:
        found = re.fullmatch(r"/v1beta/models/([^/:]+):generateContent", path)
        assert found, path
        asked = json.loads(body)
        parts = [part for content in asked["contents"] for part in content["parts"]]
        # The client writes the URL-safe alphabet.
        encoded = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
        images = [base64.b64decode(text, altchars=b"-_", validate=True) for text in encoded]
        words = "\n".join(part["text"] for part in parts if "text" in part)
        return Request(path, headers, found.group(1), words, tuple(images), asked)

    def body(self, answer: Answer, request: Request) -> Any:
        parts: list[dict[str, Any]] = [{"text": answer.words}] if answer.words else []
        if answer.image is not None:
            encoded = base64.b64encode(answer.image(request)).decode()
            if answer.broken:
                encoded = encoded[:50] + "!" + encoded[51:-7]
            parts.append({"inlineData": {"mimeType": "image/png", "data": encoded}})
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "finishReason": answer.finish or "STOP",
                    "index": 0,
                }
            ],
            "modelVersion": f"{request.model}-001",
            "responseId": "response-1",
            "usageMetadata": {
                "promptTokenCount": 300,
                "candidatesTokenCount": 1290,
                "totalTokenCount": 1590,
            },
        }

    def bad_key(self, request: Request) -> Answer:
        reason = [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        ]
        return gemini_error(400, "INVALID_ARGUMENT", f"API key not valid: {request.key}.", reason)


def openai_error(status: int, code: str, message: str, **options: Any) -> Answer:
    param = options.pop("param", None)
    kind = options.pop("kind", "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Answer(status=status, json={"error": error}, **options)


def gemini_error(
    status: int, name: str, message: str, details: Sequence[Any] = (), **options: Any
) -> Answer:
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    return Answer(status=status, json={"error": error}, **options)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: ImageServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away is no news
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server.owner
        data = server.files.get(self.path)
        if data is None:
            self._send(404, b"", {})
        elif data.startswith(b"to "):
            self._send(302, b"", {"Location": data[3:].decode()})
        else:
            self._send(200, data, {"Content-Type": "image/png"})

    def do_POST(self) -> None:
        server = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = server.parsed(self.path, headers, body)
        with server.lock:
            server.requests.append(request)
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
        try:
            self._answer(request)
        finally:
            with server.lock:
                server.under_way -= 1

    def _answer(self, request: Request) -> None:
        server = self.server.owner
        accepted = server.key is None or request.key == server.key
        answer = server.script(request) if accepted else server.bad_key(request)
        if answer.delay_s:
            server.closing.wait(answer.delay_s)
        if answer.drop:
            # Reset and not merely closed.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True
            return
        if answer.trickle:
            self._trickle()
            return
        if answer.text is not None:
            self._send(answer.status, answer.text.encode(), {"Content-Type": "text/plain"})
            return
        said = answer.json if answer.json is not None else server.body(answer, request)
        headers = {"Content-Type": "application/json", "x-request-id": "req-1"}
        self._send(answer.status, json.dumps(said).encode(), {**headers, **answer.headers})

    def _trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        while not self.server.owner.closing.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
