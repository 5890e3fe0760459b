"""`APIEditor`: what image editors behind a paid or local API are built on.

Images leave the machine. Everything here is about asking no more than needed: one request alone
until the service has answered, one pause for all threads, ceilings, and a stop after the first
failure that concerns every edit.
"""

from __future__ import annotations

import logging
import threading
import weakref
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PIL import Image

from .base import EditRequest, ImageEditor, declined, no_image

if TYPE_CHECKING:
    from ..editing import NoImageReturned
    from .api_editor_parts.answers import EditAnswer, Upload
    from .api_editor_parts.line import EditLine

# VLMEvalKit imports this module at every start, so whatever only an edit needs is imported by the
# methods that need it.

logger = logging.getLogger(__name__)


class ServiceNames(NamedTuple):
    """What a service calls its key and its address."""

    keys: tuple[str, ...]
    """Environment variables, in order."""
    addresses: tuple[str, ...]
    """Environment variables, in order."""
    default: str
    paths: tuple[str, ...]
    """Ends of an address that people paste and the client adds itself."""


class APIEditor(ImageEditor):
    """An image editor behind an API, which VLMEvalKit may call from many threads.

    The same request does not give the same image twice, so images are kept in the store and not
    asked for again; `reuse_edits=False` draws anew.

    Args:
        model: as the service calls it.
        api_key: by default the first environment variable of `SERVICE` that is set. Never recorded.
        base_url: of any server that speaks the same protocol.
        opening: a line put before the instruction.
        image_attempts: how often to ask when the answer is no image.
        price_per_image: US dollars per request, for a model or server the price table does not
            know.
        max_concurrency: requests under way at the same time, at most.
        retries: repetitions of one request after a passing failure.
        backoff_s: the first pause is drawn from 0 to this; each further one may be twice as long.
        timeout_s: seconds for one answer.
        max_cost: US dollars this editor may spend, by known prices.
        max_images: requests that may make an image.
        settings: of the service, and of `ImageEditor`.

    Raises:
        ValueError: an option that does not exist, a number out of range, or `max_cost` without a
            known price.
    """

    is_api = True
    SERVICE: ServiceNames

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        opening: str = "",
        image_attempts: int = 1,
        price_per_image: float | None = None,
        **settings: Any,
    ) -> None:
        from ..judging.settings import redacted
        from .api_editor_parts.budget import PriceList
        from .api_editor_parts.client import resolved
        from .api_editor_parts.line import EditLine, Effort
        from .api_editor_parts.options import without_unknown

        if settings.pop("batch_size", 1) != 1:
            raise ValueError("expected batch_size 1 for an API; use max_concurrency and replicas")
        effort = Effort.taken_from(settings)
        own = without_unknown(settings, self.options())
        self._address = resolved(self.SERVICE, model, base_url, api_key)
        own.setdefault("name", model)
        super().__init__(
            model_id=model,
            server=self._address.identity.strip(),
            opening=opening,
            image_attempts=image_attempts,
            **own,
        )
        self._effort = effort
        self._loading = threading.Lock()
        self._prices = PriceList(model, self.settings.get("quality"), price_per_image)
        self._prices.refuse_ceiling_without_price(effort.max_cost)
        self._shown = partial(redacted, secrets=self._address.secrets)
        self._line = EditLine(f"{model} at {self._address.endpoint}", effort, self._shown)
        weakref.finalize(self, _say_summary, self._line)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Names of the service's own settings; they are recorded with every edit."""
        return ()

    @abstractmethod
    def send(self, words: str, uploads: Sequence[Upload]) -> EditAnswer:
        """Ask once, without repeating.

        Args:
            words: the instruction, after `opening`.
            uploads: demonstrations, if any, and last the image to edit.

        Raises:
            Failure: (of `judging.faults`) no answer came; with code `REFUSED_SETTING` when the
                service refuses what every request has.
        """

    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        raise TypeError("expected a request with the file's bytes; an API is sent these")

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        from .api_editor_parts.answers import upload_of

        self._prepare()
        files = [*(path.read_bytes() for path in request.earlier_images), request.image_bytes]
        uploads = [upload_of(data) for data in files]
        for attempt in range(1, max(1, int(self.settings["image_attempts"])) + 1):
            answer = self._asked(request, uploads, attempt)
            if answer.image is not None and not answer.damaged:
                return answer.image
        raise self._without_image(answer)

    def edit_requests(
        self, requests: Sequence[EditRequest]
    ) -> Sequence[Image.Image | bytes | Exception]:
        """Several edits, kept as far as they come: a later one that fails loses no earlier one."""
        from .api_editor_parts.line import EditFailed, EditingStopped

        results: list[Image.Image | bytes | Exception] = []
        try:
            for request in requests:
                results += super().edit_requests([request])
        except (EditFailed, EditingStopped):
            self._keep_made(requests, results)
            raise
        return results

    def _keep_made(self, requests: Sequence[EditRequest], results: Sequence[Any]) -> None:
        for request, result in zip(requests, results, strict=False):
            if isinstance(result, bytes) and self.reuse_edits:
                images = [*(path.read_bytes() for path in request.earlier_images)]
                images.append(request.image_bytes)
                key = self._key(request.instruction, images, request.seed)
                self.store.remember(key, self._stored_line(result, request.seed))

    def _edit_message(self, message: Any, dataset: str) -> str:
        from ..editing import failed_call_line
        from .api_editor_parts.line import EditingStopped

        try:
            return super()._edit_message(message, dataset)
        except EditingStopped as stopped:
            # The log has said it once; the base class would say it again for every sample.
            return failed_call_line(str(stopped))

    def _asked(self, request: EditRequest, uploads: list[Upload], attempt: int) -> EditAnswer:
        from .api_editor_parts.client import within
        from .api_editor_parts.line import EditFailed
        from .api_editor_parts.record import EditRecord

        record = EditRecord(self.store.root, self.name, self._address.endpoint, self._shown)
        price = self._prices.of(len(uploads))
        words = "\n".join(filter(None, (self.settings["opening"], request.instruction)))
        limit = self._effort.timeout_s
        asked = {"words": words, "attempt": attempt, "requested": self.settings}
        try:
            answer = self._line.answer(
                lambda: within(limit, partial(self.send, words, uploads)), price
            )
        except EditFailed as failed:
            record.add(request, uploads, asked, {"result": "failed", "note": str(failed)})
            raise
        cost = price.of(answer.usage) if price is not None and not answer.is_free else None
        record.add(request, uploads, asked, {**record.said(answer), "cost": cost})
        return answer

    def _prepare(self) -> None:
        """Stop everything when there is no key or no client library."""
        from .api_editor_parts.client import quiet_clients

        quiet_clients()
        if not self._address.api_key and self._address.base_url == self.SERVICE.default:
            names = " or ".join(self.SERVICE.keys)
            raise self._line.stopped("no_key", f"set {names}, or give api_key in --config")
        try:
            with self._loading:
                self.load_client()
        except ImportError as error:
            raise self._line.stopped("package", str(error)) from None

    def load_client(self) -> None:
        """Make what `send` needs, once; never called by two threads at the same time.

        Raises:
            ImportError: with the line for pip.
        """

    def _without_image(self, answer: EditAnswer) -> NoImageReturned:
        from ..parsing import is_refusal

        if answer.image is not None:
            return no_image("the image in the answer is damaged")
        words = self._shown(answer.text) or "an answer without an image"
        if answer.finish_reason and answer.finish_reason not in words:
            words = f"{words} ({answer.finish_reason})"
        refused = answer.declined or is_refusal(answer.text)
        return declined(words) if refused else no_image(words)


def _say_summary(line: EditLine) -> None:
    if line.budget.requests:
        logger.info("%s", line.summary())
