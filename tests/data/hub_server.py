"""A Hub of one data set, for `huggingface_hub` to talk to on 127.0.0.1."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

_FIELDS_OF_EVERY_REPOSITORY = {"private": False, "tags": [], "downloads": 0, "likes": 0}
COMMIT = "89abcdef0123456789abcdef0123456789abcdef"


@contextmanager
def hub_of(folder: Path, repo: str) -> Iterator[tuple[str, list[str]]]:
    """Serve the files of `folder` as `repo` at `COMMIT`; gives the address and the paths asked."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def log_message(self, *arguments: object) -> None:
            pass

        def answer(self, *, with_body: bool) -> None:
            path = unquote(urlparse(self.path).path)
            asked.append(path)
            api = f"/api/datasets/{repo}"
            file = folder / path.removeprefix(f"/datasets/{repo}/resolve/{COMMIT}/")
            if path == f"{api}/revision/main":
                self.send(json.dumps(_repository(folder, repo)).encode(), with_body)
            elif path == f"{api}/tree/{COMMIT}":
                self.send(json.dumps(_tree(folder)).encode(), with_body)
            elif path.startswith(f"/datasets/{repo}/resolve/{COMMIT}/") and file.is_file():
                self.send(file.read_bytes(), with_body)
            else:
                self.send_error(404)

        def send(self, body: bytes, with_body: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{_blob(body)}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _repository(folder: Path, repo: str) -> dict[str, object]:
    names = [{"rfilename": path.relative_to(folder).as_posix()} for path in _files(folder)]
    return {"id": repo, "sha": COMMIT, "siblings": names, **_FIELDS_OF_EVERY_REPOSITORY}


def _tree(folder: Path) -> list[dict[str, object]]:
    return [
        {
            "type": "file",
            "path": path.relative_to(folder).as_posix(),
            "size": path.stat().st_size,
            "oid": _blob(path.read_bytes()),
        }
        for path in _files(folder)
    ]
