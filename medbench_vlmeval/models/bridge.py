"""`BridgedEditor`: a model that lives in another Python and in a checkout of its own.

Research repositories that are no packages, and that want other versions of everything, are driven
by a small program in their own environment; docs/bridge.md describes the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

from ..registry import register_editor
from .base import EditRequest, ImageEditor

if TYPE_CHECKING:
    from ..editing import NoImageReturned
    from .base import _Job


@register_editor("Bridged")
class BridgedEditor(ImageEditor):
    """Hands edits to a worker program; see docs/bridge.md.

    Args:
        name: name in the model zoo.
        python: the interpreter of the other environment; else ``<variables>_PYTHON``.
        worker: path of the worker's program or the name of a shipped one; else
            ``<variables>_WORKER``.
        checkout: the worker's current directory, first on its ``PYTHONPATH``; else
            ``<variables>_CHECKOUT``, else the worker's own folder.
        environ: variables for the worker beside the few that are passed on. Only their names are
            recorded; what changes the pictures belongs into `settings`.
        start_timeout_s: seconds from the start to the hello, loading included.
        edit_timeout_s: seconds for one edit; a batch has as many times that as it has edits.
        max_restarts: starts in a row without an answer after which every edit fails at once.
        settings: for the worker; recorded with every edit.
        seed: as in `ImageEditor`, like `replicas`, `batch_size` and `reuse_edits`.
        others: further settings for the worker.

    Notes:
        The identity of an edit holds the worker's source and its settings, not the places of
        interpreter and checkout and not the checkout's state: after a change there give another
        name, or ``reuse_edits: false``.
    """

    variables = "MEDBENCH_BRIDGED"
    needs_checkout = False
    default_worker: str | None = None
    default_settings: Mapping[str, Any] = {}
    unknown = ""
    """Settings of the published runs that are not known."""

    def __init__(
        self,
        *,
        name: str = "",
        python: str | None = None,
        worker: str | None = None,
        checkout: str | None = None,
        environ: Mapping[str, str] | None = None,
        start_timeout_s: float = 1800.0,
        edit_timeout_s: float = 900.0,
        max_restarts: int = 2,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        replicas: int = 1,
        batch_size: int = 1,
        reuse_edits: bool = True,
        **others: Any,
    ) -> None:
        from .bridge_launch import Sources, WorkerSetup
        from .bridge_link import Link

        if start_timeout_s <= 0 or edit_timeout_s <= 0 or max_restarts < 0:
            raise ValueError(
                "expected time-outs above 0 and max_restarts of at least 0, got "
                f"{start_timeout_s}, {edit_timeout_s}, {max_restarts}"
            )
        super().__init__(
            name=name,
            seed=seed,
            replicas=replicas,
            batch_size=batch_size,
            reuse_edits=reuse_edits,
            **others,
        )
        # What the base class has left is what VLMEvalKit does not push into every entry.
        worker_settings = {**self.default_settings, **(settings or {}), **self.settings}
        worker = worker or self.default_worker
        self.setup = WorkerSetup(
            name=self.name,
            sources=Sources(python, worker, checkout, self.variables, self.needs_checkout),
            environ=dict(environ or {}),
            settings=worker_settings,
            start_timeout_s=start_timeout_s,
        )
        self.link = Link(self.setup, edit_timeout_s=edit_timeout_s, max_restarts=max_restarts)
        self._asked: dict[str, Any] = {}

    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        raise TypeError("expected a request; the worker is asked by edit_requests")

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        from ..editing import NoImageReturned
        from .bridge_process import WorkerFailed

        (result,) = self.edit_requests([request])
        reason = _failed_call(result)
        if reason is not None:
            raise WorkerFailed(reason)
        if isinstance(result, NoImageReturned):
            raise result
        return result

    def edit_requests(
        self, requests: Sequence[EditRequest]
    ) -> list[Image.Image | bytes | NoImageReturned]:
        """The edits of the worker; one that should be asked again has the status ``api_fail``."""
        with self.link.lock:
            results = self.link.exchange(requests)
            if facts := self.link.facts:
                self.settings = {**self._identity_settings(), **facts}
        return list(results)

    def close(self) -> None:
        """End the worker; the next edit starts another."""
        self.link.close()

    def _make(self, jobs: list[_Job], message: Any) -> None:
        from .bridge_process import WorkerFailed

        # One conversation at a time; what another thread's batch has made meanwhile is taken over.
        with self.link.lock:
            for job in jobs if self.reuse_edits else ():
                job.line = self.store.recall(job.key)
            super()._make([job for job in jobs if job.line is None], message)
        for job in jobs:
            # A replica that failed fails the call, so that it is asked again.
            reason = _failed_call(job.failure)
            if reason is not None:
                raise WorkerFailed(reason)

    def _ahead(self, message: Any, n_free: int) -> list[_Job]:
        # One picture that kills the worker must not take those around it along every time.
        return super()._ahead(message, 0 if self.link.is_doubtful else n_free)

    def _key(self, instruction: str, images: Sequence[bytes], seed: int) -> str:
        from ..editing import edit_key

        # The worker's hello is recorded but unknown before it runs, so it is no part of the key.
        return edit_key(
            model=f"{self._identity}:{self.name}",
            settings=self._identity_settings(),
            instruction=instruction,
            images=images,
            seed=seed,
        )

    def _identity_settings(self) -> dict[str, Any]:
        from ..files import sha256_file

        if not self._asked:
            script = self.setup.sources.worker_script()
            self._asked = {
                "worker": script.name,
                "worker_sha256": sha256_file(script),
                "settings": self.setup.settings,
                "environ": sorted(self.setup.environ),
                **({"unknown": self.unknown} if self.unknown else {}),
            }
        return self._asked


def _failed_call(result: object) -> str | None:
    """Why a result is a failed call, to be asked again; None for anything else."""
    from ..editing import NoImageReturned
    from ..types import Status

    is_failed = isinstance(result, NoImageReturned) and result.status is Status.API_FAIL
    return result.reason if is_failed else None  # type: ignore[attr-defined]
