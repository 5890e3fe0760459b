"""The judge: many calls in, one verdict each out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .adaptation import Adaptation
from .attempts import Attempt, is_usable
from .bodies import Preparer, call_id, prompt_tokens
from .cache import ReplyCache, cache_key
from .calls import Estimate, JudgeCall, JudgeStopped, Verdict, status_counts
from .endpoint import ChatEndpoint, Endpoint, HostEndpoint
from .line import Line, Stopped
from .log import ReplyLog
from .pacing import Clock, Pacer
from .pricing import Budget, price_of, price_table
from .pump import pump, run_apart
from .session import Job, Session
from .settings import JudgeSettings

logger = logging.getLogger(__name__)

_ENCODING_THREADS = 2


class Judge:
    """Asks a judge model for scores: in parallel, from a cache, within a budget, without losses.

    Args:
        settings: which judge, and how.
        host_judge: a judge object of VLMEvalKit (anything with ``generate(message)``) to ask
            instead of an endpoint; the parameters in `settings` are then the object's business.
        clock: time and waiting between repetitions.
    """

    def __init__(
        self, settings: JudgeSettings, *, host_judge: Any = None, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        self._host_judge = host_judge
        self._clock = clock or Clock()
        self._price = None if host_judge else price_of(settings.model, settings.price)
        self._adaptation = Adaptation()
        self._models_returned: set[str] = set()
        self._warned = False
        self.spent = 0.0
        """US dollars so far, as far as the price is known."""

    def estimate(self, calls: Iterable[JudgeCall]) -> Estimate:
        """What `run` would ask and cost. Reads the images and the cache; calls nobody.

        Questions whose images cannot be read are left out, as `run` does not ask them.
        """
        jobs = self._jobs(calls)
        return run_apart(lambda: self._estimated(jobs))

    def run(
        self,
        calls: Iterable[JudgeCall],
        *,
        log_path: Path | None = None,
        progress: str | None = None,
    ) -> dict[str, Verdict]:
        """The verdicts by key of call. Blocks until all are there.

        May be called inside a running event loop and in a forked child.

        Args:
            calls: drawn as lanes become free.
            log_path: JSON-lines file to which every reply is appended.
            progress: what a progress bar on a terminal is called; `None` for none.

        Raises:
            JudgeStopped: the judge cannot go on; what was finished is kept.
            ValueError: two calls with the same key, a ceiling for a judge of unknown price, or a
                cache file that cannot be used.
        """
        self._check_price()
        self._warn_of_alias()
        collected: list[Session] = []
        jobs = self._jobs(calls)
        total = len(calls) * self.settings.repeats if isinstance(calls, Sized) else None
        try:
            with _progress_bar(progress, total) as bar:
                run_apart(lambda: self._run(jobs, log_path, collected, bar))
        except Stopped as stopped:
            reason, kind = stopped.reason, stopped.kind
        else:
            return self._finished(collected)
        # Raised outside the except clause: nothing of the failed request hangs on it.
        raise JudgeStopped(reason, self._finished(collected), kind)

    def manifest(self) -> dict[str, Any]:
        """Who judged and how, for the record of a run. Free of secrets."""
        adapted = self._adaptation
        return {
            **self.settings.record(),
            "models_returned": sorted(self._models_returned),
            "effective_parameters": adapted.parameters(self.settings.parameters),
            "adapted": adapted.record(),
            "host_judge": type(self._host_judge).__name__ if self._host_judge else None,
            "prices_as_of": price_table()["as_of"] if self._price else None,
            "spent": round(self.spent, 6) if self._price else None,
            "image_encoding": "bytes of the file; made PNG if not 8-bit PNG or JPEG",
            "client": f"openai {_version('openai')}",
        }

    def _jobs(self, calls: Iterable[JudgeCall]) -> Iterator[Job]:
        seen: set[str] = set()
        for call in calls:
            if call.key in seen:
                raise ValueError(
                    f"expected a key of its own for every call, got {call.key!r} twice"
                )
            seen.add(call.key)
            for further in range(self.settings.repeats):
                yield Job(call, call.repeat + further)

    @property
    def _identity(self) -> str:
        if self._host_judge is None:
            return self.settings.identity
        return f"{type(self._host_judge).__qualname__} {self.settings.weights_sha256 or ''}"

    def _endpoint(self) -> Endpoint:
        if self._host_judge is None:
            return ChatEndpoint(self.settings)
        return HostEndpoint(self._host_judge, self.settings.nproc)

    async def _run(
        self, jobs: Iterator[Job], log_path: Path | None, collected: list[Session], bar: Any
    ) -> None:
        settings = self.settings
        pacer = Pacer(settings.nproc, self._clock)
        log = ReplyLog(log_path, settings)
        with (
            closing(ReplyCache(settings.cache_path)) as cache,
            ThreadPoolExecutor(_ENCODING_THREADS, "medbench-images") as encoders,
        ):
            async with self._endpoint() as endpoint:
                line = Line(settings, endpoint, pacer, self._clock, self._adaptation)
                budget = Budget(settings.max_cost, spent=self.spent)
                session = Session(
                    settings,
                    self._identity,
                    Preparer(encoders),
                    cache,
                    line,
                    budget,
                    self._price,
                    log,
                )
                collected.append(session)

                async def work(job: Job) -> None:
                    await session.judge(job)
                    if bar is not None:
                        bar.update()

                try:
                    await pump(jobs, work, lanes=settings.nproc, pacer=pacer)
                finally:
                    pacer.close()
                    self._adaptation = line.adaptation
                    self.spent = budget.spent

    def _finished(self, collected: list[Session]) -> dict[str, Verdict]:
        verdicts: dict[str, Verdict] = {}
        for session in collected:
            verdicts.update(session.finished())
            self._models_returned |= session.models_returned
        if len(self._models_returned) > 1:
            logger.warning("several models answered: %s", ", ".join(sorted(self._models_returned)))
        counts = {str(status): count for status, count in status_counts(verdicts.values()).items()}
        logger.info("judge %s: %d verdicts %s", self.settings.model, len(verdicts), counts)
        return verdicts

    async def _estimated(self, jobs: Iterator[Job]) -> Estimate:
        settings = self.settings
        path = settings.cache_path if settings.cache_path and settings.cache_path.exists() else None
        n_calls = n_cached = tokens = 0
        known: set[str] = set()
        with (
            closing(ReplyCache(path)) as cache,
            ThreadPoolExecutor(_ENCODING_THREADS, "medbench-images") as encoders,
        ):
            preparer = Preparer(encoders)
            for job in jobs:
                try:
                    messages = await preparer.prepared(job.call)
                except (OSError, ValueError):
                    # `run` asks nothing about an image that cannot be read, so it costs nothing.
                    continue
                shown = [message.shown for message in messages]
                asked = call_id(settings.model, shown, settings.parameters)
                key = cache_key(asked, self._identity, job.repeat)
                if key in known or _is_answered(cache, key, job):
                    n_cached += 1
                else:
                    n_calls += 1
                    tokens += prompt_tokens(settings.model, messages)
                known.add(key)
        price = self._price
        cost = None if price is None else price.of(tokens, n_calls * settings.max_tokens)
        return Estimate(n_calls, n_cached, tokens, cost)

    def _check_price(self) -> None:
        if self.settings.max_cost is not None and self._price is None:
            raise ValueError(
                f"expected a judge of known price to hold max_cost, got {self.settings.model!r}; "
                "give medbench_judge_price as [US dollars per million tokens in, out]"
            )

    def _warn_of_alias(self) -> None:
        if self._warned or self._host_judge is not None or not self.settings.is_bare_alias:
            return
        self._warned = True
        logger.warning(
            "%s is an alias whose model may change; name a dated id to keep scores comparable "
            "(the id that answers is recorded)",
            self.settings.model,
        )


def _is_answered(cache: ReplyCache, key: str, job: Job) -> bool:
    records: list[Mapping[str, Any]] = list(cache.attempts(key) or [])
    attempts = [Attempt.from_record(record, job.call.rubric) for record in records]
    return bool(attempts) and is_usable(attempts)


def _progress_bar(label: str | None, total: int | None) -> Any:
    if label is None:
        return nullcontext()
    from tqdm import tqdm

    # With None the bar shows on a terminal only, so logs of batch jobs stay readable.
    return tqdm(desc=label, total=total, unit="verdict", disable=None)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
