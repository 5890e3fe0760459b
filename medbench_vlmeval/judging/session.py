"""One run of the judge: from a call to its verdict, through cache, budget and line."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any
from weakref import WeakValueDictionary

from ..types import Status
from . import bodies
from .attempts import Attempt, is_usable, verdict_of
from .cache import ReplyCache, cache_key
from .calls import JudgeCall, Rubric, Verdict
from .line import GaveUp, Line, Question
from .log import ReplyLog
from .pricing import Budget, BudgetReached, Price
from .replies import Reply, no_choice_note, read_reply, reply_of, second_question
from .settings import JudgeSettings, redacted


@dataclass(frozen=True)
class Job:
    """One verdict to be had."""

    call: JudgeCall
    repeat: int


@dataclass
class Session:
    """The parts of a run, and the verdicts it has reached."""

    settings: JudgeSettings
    identity: str
    preparer: bodies.Preparer
    cache: ReplyCache
    line: Line
    budget: Budget
    price: Price | None
    log: ReplyLog
    verdicts: dict[str, dict[int, Verdict]] = field(default_factory=dict)
    models_returned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def judge(self, job: Job) -> None:
        """Reach the verdict on one job and file it."""
        try:
            messages = await self.preparer.prepared(job.call)
        except (OSError, ValueError) as error:
            verdict = self._unprepared(job, f"an image cannot be sent: {error}")
        else:
            verdict = await self._verdict(job, messages)
        self.verdicts.setdefault(job.call.key, {})[job.repeat] = verdict

    async def _verdict(self, job: Job, messages: tuple[bodies.PreparedMessage, ...]) -> Verdict:
        question = Question(job.call, messages, self.settings.parameters)
        call_id = bodies.call_id(
            self.settings.model, [m.shown for m in messages], self.settings.parameters
        )
        key = cache_key(call_id, self.identity, job.repeat)
        # The same question from two samples is asked once: the second finds it in the cache.
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            attempts = self._stored(key, job.call.rubric)
            cached = bool(attempts)
            if not attempts:
                attempts = await self._asked(question, job, call_id)
                records = [attempt.record() for attempt in attempts]
                self.cache.store(key, call_id, records, usable=is_usable(attempts))
        if cached:
            self.log.recall(job.call, job.repeat, call_id, messages, attempts)
        self.models_returned |= {a.reply.model for a in attempts if a.reply.model}
        return verdict_of(job.call, call_id, self.settings.model, attempts, cached=cached)

    def _stored(self, key: str, rubric: Rubric) -> list[Attempt]:
        records = self.cache.attempts(key) or []
        attempts = [Attempt.from_record(record, rubric) for record in records]
        return attempts if attempts and is_usable(attempts) else []

    async def _asked(self, question: Question, job: Job, call_id: str) -> list[Attempt]:
        first = await self._attempt(question)
        self.log.add(job.call, job.repeat, call_id, 1, question.all_messages, first)
        changed = self._second(question, first)
        if changed is None:
            return [first]
        second = await self._attempt(changed)
        self.log.add(job.call, job.repeat, call_id, 2, changed.all_messages, second)
        return [first, second]

    def _second(self, question: Question, first: Attempt) -> Question | None:
        """The question to ask after an unusable reply; `None` when asking again is no use."""
        status = first.reading.status
        # Without any reply the line has already repeated the question as often as it may.
        extra = None if not first.answered else second_question(status, question.call.rubric)
        if extra is None:
            return None
        parameters = dict(question.parameters)
        if status is Status.TRUNCATED:
            parameters["max_tokens"] = max(self.settings.retry_max_tokens, self.settings.max_tokens)
        return replace(question, extra=extra, parameters=parameters)

    async def _attempt(self, question: Question) -> Attempt:
        expected, prompt_tokens = self._expected(question)
        circumstances: dict[str, Any] = {
            "asked_at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "extra": question.extra,
        }
        began = time.monotonic()
        try:
            held = await self.budget.hold(expected)
            try:
                response, adaptation = await self.line.response(question)
                reply = reply_of(response)
                cost = self._cost(reply, prompt_tokens, question)
                self.budget.add(cost, expected)
            finally:
                await self.budget.release(held)
        except GaveUp as given_up:
            seconds = time.monotonic() - began
            return Attempt.failed(given_up.status, given_up.note, seconds=seconds, **circumstances)
        except BudgetReached as reached:
            spending = self.line.stopped("budget", str(reached), self.settings.timeout_s)
            raise spending from None
        circumstances["seconds"] = time.monotonic() - began
        circumstances["parameters"] = adaptation.parameters(question.parameters)
        if reply is None:
            note = redacted(no_choice_note(response), self.settings.secrets)
            return Attempt.failed(Status.API_FAIL, note, answered=True, **circumstances)
        reply = self._clean(reply)
        return Attempt(reply, read_reply(reply, question.call.rubric), cost, **circumstances)

    def _clean(self, reply: Reply) -> Reply:
        # A proxy that echoes headers must not get the key into our files.
        secrets = self.settings.secrets
        if not secrets:
            return reply
        return replace(
            reply,
            text=redacted(reply.text, secrets),
            refusal=redacted(reply.refusal, secrets),
            model=redacted(reply.model, secrets),
        )

    def _expected(self, question: Question) -> tuple[float | None, int]:
        """The cost if the reply uses all its tokens, and the estimated length of the question."""
        if self.price is None:
            return None, 0
        tokens = bodies.prompt_tokens(self.settings.model, question.all_messages)
        return self.price.of(tokens, question.parameters["max_tokens"]), tokens

    def _cost(self, reply: Reply | None, prompt_tokens: int, question: Question) -> float | None:
        if self.price is None or reply is None:
            return None
        # An endpoint that does not count is booked at what was expected.
        asked = prompt_tokens if reply.prompt_tokens is None else reply.prompt_tokens
        longest = question.parameters["max_tokens"]
        said = longest if reply.completion_tokens is None else reply.completion_tokens
        return self.price.of(asked, said)

    def _unprepared(self, job: Job, note: str) -> Verdict:
        attempt = Attempt.failed(Status.DATA_ERROR, note)
        return verdict_of(job.call, "", self.settings.model, [attempt], cached=False)

    def finished(self) -> dict[str, Verdict]:
        """The verdicts of all calls whose repeats are complete, in the order they were reached."""
        return {
            key: _combined([by_repeat[index] for index in sorted(by_repeat)])
            for key, by_repeat in self.verdicts.items()
            if len(by_repeat) == self.settings.repeats
        }


def _combined(verdicts: list[Verdict]) -> Verdict:
    first = next((v for v in verdicts if v.status.has_value), verdicts[0])
    return first if len(verdicts) == 1 else replace(first, repeats=tuple(verdicts))
