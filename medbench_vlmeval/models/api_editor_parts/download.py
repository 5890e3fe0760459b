"""Fetching an edited image that a server names by its address instead of sending it."""

from __future__ import annotations

import time
from typing import Any

from .line import IMAGE_LOST

MAX_BYTES = 64 * 1024 * 1024
_BLOCK = 1 << 16
_ATTEMPTS = 3


def downloaded(url: str, *, secure: bool, timeout_s: float) -> bytes:
    """The bytes behind `url`, without key and without following redirections.

    The image is made and paid for, so a download that breaks is tried again before it is given up.

    Args:
        url: http or https.
        secure: the server itself was asked by https, so that nothing else is accepted.
        timeout_s: seconds for all of it.

    Raises:
        Failure: another kind of address, more than 64 MB, or no answer in time.
    """
    from ...judging.faults import Failure

    accepted = ("https://",) if secure else ("http://", "https://")
    if not url.lower().startswith(accepted):
        note = f"the image is at an address other than {' or '.join(accepted)}"
        raise Failure(400, note, code=IMAGE_LOST)
    until = time.monotonic() + timeout_s
    for _ in range(_ATTEMPTS):
        data, note = _once(url, until)
        if data is not None:
            return data
    raise Failure(400, f"the image cannot be downloaded ({note})", code=IMAGE_LOST)


def _once(url: str, until: float) -> tuple[bytes | None, str]:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import build_opener

    left = until - time.monotonic()
    if left <= 0:
        return None, "no time left"
    try:
        with build_opener(_no_redirections()).open(url, timeout=left) as response:
            return _whole(response, until)
    except HTTPError as error:
        error.close()
        return None, f"HTTP {error.code}"
    # An address may hold a signature: of an error only its kind is shown.
    except (OSError, HTTPException, ValueError) as error:
        return None, type(error).__name__


def _whole(response: Any, until: float) -> tuple[bytes | None, str]:
    data = bytearray()
    while block := response.read1(_BLOCK):
        data += block
        if len(data) > MAX_BYTES:
            return None, f"more than {MAX_BYTES} bytes"
        if time.monotonic() > until:
            return None, "no time left"
    said = response.headers.get("Content-Length", "")
    if said.isdigit() and int(said) != len(data):
        return None, f"{len(data)} of {said} bytes"
    return bytes(data), ""


def _no_redirections() -> Any:
    from urllib.request import HTTPRedirectHandler

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *arguments: Any) -> None:
            return None

    return Stay()
