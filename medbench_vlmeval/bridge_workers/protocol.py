"""The worker's side of the bridge, in one file that needs nothing but Python 3.8.

Copy it into another project if you like. A worker loads its model and calls `serve`; from then on
it reads one request a line from stdin and writes one answer a line to stdout::

    {"id": 7, "image": "…/7.png", "instruction": "…", "seed": 3, "output": "…/7_out.png",
     "settings": {}, "following": 0}
    {"id": 7, "status": "ok"}

The statuses are ``ok`` (the image is in the file `output`), ``no_image``, ``refusal`` and
``error``, the last three with a ``reason``. The first line of a worker is its hello, which names
the version of this protocol.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import queue
import select
import shutil
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    Request = dict[str, Any]
    Edit = Callable[[str, str, int, dict[str, Any]], Any]
    Batch = Callable[[list[Request]], Sequence[Any]]

PROTOCOL = 1
SETTINGS_VARIABLE = "MEDBENCH_BRIDGE_SETTINGS"


class NoImage(Exception):
    """The model answered without an image; the text says what it did instead."""


class Refused(Exception):
    """The model declined; the text is its own words."""


def start_settings(defaults: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings that will come with every request, for a model that is loaded before the first.

    Args:
        defaults: what holds for settings that were not given. With it, a setting that is not among
            them is an error, so that a misspelt one does not pass unnoticed.

    Raises:
        ValueError: a setting that the worker does not know.
    """
    given = json.loads(os.environ.get(SETTINGS_VARIABLE, "{}"))
    if defaults is None:
        return dict(given)
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(f"expected settings among {sorted(defaults)}, got {unknown}")
    return {**defaults, **given}


def serve(
    edit: Edit,
    *,
    name: str,
    version: str = "",
    batch: Batch | None = None,
    about: dict[str, Any] | None = None,
) -> None:
    """Answer requests until there are no more.

    Args:
        edit: called as ``edit(image_path, instruction, seed, settings)``; gives a Pillow image, the
            path of an image file, or None for no image. It may raise `NoImage` and `Refused`; any
            other exception is answered as an error, with its traceback on stderr.
        name: of the model, for the record.
        version: of the model or its code, for the record.
        batch: makes several edits at once: takes the requests that were sent together, gives one
            result each in their order (an image, a path, None, or an exception in its place).
        about: further facts for the record, e.g. the checkpoint; plain values.

    Notes:
        From the first moment on, whatever the model's code prints goes to stderr, and it reads an
        empty stdin. When stdin ends, open requests are still answered, unless nobody reads the
        answers any more: then the process ends at once.
    """
    requests, answers = _take_over_stdio()
    hello = {"protocol": PROTOCOL, "worker": name, "version": version}
    hello.update({"python": platform.python_version(), **(about or {})})
    waiting: queue.Queue[Request | None] = queue.Queue()
    reading = (requests, waiting, answers)
    threading.Thread(target=_read_requests, args=reading, daemon=True).start()
    try:
        # Something that was printed without a line break may stand before the first line.
        _write(answers, hello, before="\n")
        while True:
            group = _next_group(waiting, together=batch is not None)
            if not group:
                return
            for answer in _answers(edit, batch, group):
                _write(answers, answer)
    except BrokenPipeError:
        os._exit(0)


def _take_over_stdio() -> tuple[TextIO, TextIO]:
    """Streams of the protocol, out of reach of everything that uses stdin and stdout by habit."""
    sys.stdout.flush()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for good
    sys.stdout = sys.stderr
    return requests, answers


def _read_requests(requests: TextIO, waiting: queue.Queue[Request | None], answers: TextIO) -> None:
    for line in requests:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            request["id"], request["image"], request["output"], request["instruction"]
        except (ValueError, TypeError, KeyError) as error:
            sys.stderr.write(f"a line that is no request ({error!r}): {line[:200]}\n")
            continue
        waiting.put(request)
    waiting.put(None)
    while not _is_abandoned(answers):
        time.sleep(0.2)
    os._exit(0)


def _is_abandoned(answers: TextIO) -> bool:
    """Nobody holds the other end of stdout: who asked is gone, and a long edit would be in vain."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(answers.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _next_group(waiting: queue.Queue[Request | None], *, together: bool) -> list[Request]:
    """The next request, with those that were sent together with it if that is of use."""
    first = waiting.get()
    if first is None:
        return []
    group = [first]
    for _ in range(int(first.get("following", 0)) if together else 0):
        request = waiting.get()
        if request is None:
            waiting.put(None)
            break
        group.append(request)
    return group


def _answers(edit: Edit, batch: Batch | None, group: list[Request]) -> list[dict[str, Any]]:
    if batch is None or len(group) == 1:
        return [_answer(request, functools.partial(_edited, edit, request)) for request in group]
    try:
        results = list(batch(group))
        if len(results) != len(group):
            raise ValueError(f"expected {len(group)} results of a batch, got {len(results)}")
    except Exception as error:  # noqa: BLE001 - a failed batch is an answer, not the worker's end
        results = [error] * len(group)
    pairs = zip(group, results)  # noqa: B905 - Python 3.8
    return [_answer(request, functools.partial(_unwrapped, result)) for request, result in pairs]


def _edited(edit: Edit, request: Request) -> Any:
    seed, settings = int(request.get("seed", 0)), dict(request.get("settings") or {})
    return edit(request["image"], request["instruction"], seed, settings)


def _unwrapped(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def _answer(request: Request, result: Callable[[], Any]) -> dict[str, Any]:
    """What is said about one request, once its image is saved."""
    answer: dict[str, Any] = {"id": request["id"], "status": "ok"}
    try:
        _save(result(), request["output"])
    except NoImage as error:
        answer.update(status="no_image", reason=str(error))
    except Refused as error:
        answer.update(status="refusal", reason=str(error))
    except Exception as error:  # noqa: BLE001 - whatever the model raises is an answer
        traceback.print_exc()
        answer.update(status="error", reason=f"{type(error).__name__}: {error}")
    return answer


def _save(result: Any, output: str) -> None:
    if result is None:
        raise NoImage("the model returned no image")
    if hasattr(result, "save"):
        result.save(output, format="PNG")
        return
    shutil.copyfile(os.fspath(result), output)


def _write(answers: TextIO, message: dict[str, Any], *, before: str = "") -> None:
    answers.write(before + json.dumps(message, default=str) + "\n")
    answers.flush()
