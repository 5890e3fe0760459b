"""One question over a line that fails: repeat, wait, adapt, give up, or stop everything."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..types import Status
from .adaptation import Adaptation
from .bodies import PreparedMessage, text_message
from .calls import JudgeCall
from .endpoint import Endpoint
from .faults import Failure, Fault, Remedy, fault_of
from .pacing import Clock, Pacer
from .settings import JudgeSettings, redacted

logger = logging.getLogger(__name__)

LONGEST_WAIT_S = 600.0
"""An endpoint that asks for a longer pause is not waited for."""

_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 60.0
_FEWEST_FAILURES_IN_A_ROW = 8
_BROKEN_CONNECTIONS_IN_A_ROW = 3
_DRAIN_S = 10.0

_EXPLANATIONS = {
    "bad_key": "the judge at {endpoint} did not accept the key ({note}); "
    "set OPENAI_API_KEY, or check --judge-base-url",
    "unknown_model": "the judge at {endpoint} knows no model {model!r}, or the address is wrong "
    "({note}); check --judge and --judge-base-url, which usually ends in /v1",
    "quota": "the quota or credit of the judge's account at {endpoint} is used up ({note}); "
    "add credit and run again",
    "rate_limit": "the judge at {endpoint} asks for a longer pause than we wait ({note}); "
    "run again later",
    "unreachable": "the judge at {endpoint} cannot be reached ({note}); "
    "check --judge-base-url or OPENAI_API_BASE, and that the server is running",
    "unavailable": "the judge at {endpoint} has failed {failures} calls in a row ({note}); "
    "see the judge log and run again when it works",
    "budget": "the next call could exceed the cost ceiling ({note}); "
    "raise medbench_max_cost and run again",
}
_KEPT = "; replies received so far are kept and will not be asked for again"


@dataclass(frozen=True)
class Question:
    """One thing to ask: a call's messages, what was added to them, and the request's fields."""

    call: JudgeCall
    messages: tuple[PreparedMessage, ...]
    parameters: Mapping[str, Any]
    extra: str = ""
    """Text of a further user message."""

    @property
    def all_messages(self) -> tuple[PreparedMessage, ...]:
        if not self.extra:
            return self.messages
        return (*self.messages, text_message("user", self.extra))


class Stopped(Exception):
    """No further question makes sense."""

    def __init__(self, kind: str, reason: str, drain_s: float = _DRAIN_S) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.drain_s = drain_s
        """How long to wait for the replies that are under way, and paid for."""


class GaveUp(Exception):
    """This question gets no reply; others may."""

    def __init__(self, status: Status, note: str) -> None:
        super().__init__(note)
        self.status = status
        self.note = note


class _Passing(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.note)
        self.fault = fault


class Line:
    """Carries the questions of all lanes, and what the endpoint has taught us on the way."""

    def __init__(
        self,
        settings: JudgeSettings,
        endpoint: Endpoint,
        pacer: Pacer,
        clock: Clock,
        adaptation: Adaptation,
    ) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._pacer = pacer
        self._clock = clock
        self._answers = 0
        self._failures_in_a_row = 0
        self.adaptation = adaptation

    async def response(self, question: Question) -> tuple[Any, Adaptation]:
        """The response, and the adaptation it was asked with.

        Raises:
            GaveUp: no reply after all repetitions, or the request itself is not acceptable.
            Stopped: the cause concerns every question.
        """
        for number in range(self._settings.retries + 1):
            try:
                return await self._transmit(question)
            except _Passing as passing:
                fault = passing.fault
            if number < self._settings.retries:
                await self._pause(fault, number)
        raise self._gave_up(fault)

    async def _transmit(self, question: Question) -> tuple[Any, Adaptation]:
        while True:
            await self._pacer.enter()
            try:
                used = self.adaptation
                body = used.body(self._settings.model, question.all_messages, question.parameters)
                response = await self._endpoint.send(body, question.call, question.extra)
            except Failure as failure:
                fault = fault_of(failure)
            else:
                self._answered()
                return response, used
            finally:
                self._pacer.leave()
            if fault.remedy is not Remedy.ADAPT or not self._adapted(used, fault, question):
                raise self._raised_for(fault)

    def _answered(self) -> None:
        self._answers += 1
        self._failures_in_a_row = 0
        self._pacer.succeeded()

    def _adapted(self, used: Adaptation, fault: Fault, question: Question) -> bool:
        if self.adaptation != used:
            return True  # Another lane has been refused in the meantime and changed it.
        following = used.after_refusal_of(fault.param, question.parameters)
        if following is None:
            return False
        self.adaptation = following
        logger.warning("the judge refused %s; from now on: %s", fault.param, following.record())
        return True

    def _raised_for(self, fault: Fault) -> Exception:
        if fault.remedy is Remedy.STOP:
            return self.stopped(fault.kind, fault.note)
        if fault.wait_s is not None and fault.wait_s > LONGEST_WAIT_S:
            return self.stopped("rate_limit", f"{fault.note}, wait {fault.wait_s:.0f} s")
        if fault.remedy in (Remedy.SLOW_DOWN, Remedy.REPEAT):
            return _Passing(fault)
        if fault.remedy is Remedy.REFUSED:
            self._answered()
            return GaveUp(Status.REFUSAL, self._shown(fault.note))
        return self._gave_up(fault)

    def _gave_up(self, fault: Fault) -> Exception:
        self._failures_in_a_row += 1
        if fault.is_connection and not self._answers:
            return self.stopped("unreachable", fault.note)
        if self._failures_in_a_row >= self._bearable(fault):
            kind = "unreachable" if fault.is_connection else "unavailable"
            return self.stopped(kind, fault.note)
        return GaveUp(Status.API_FAIL, self._shown(fault.note))

    def _bearable(self, fault: Fault) -> int:
        """Calls in a row, after all their repetitions, that may fail before we stop asking."""
        if fault.is_connection:
            return _BROKEN_CONNECTIONS_IN_A_ROW
        return max(_FEWEST_FAILURES_IN_A_ROW, 2 * self._settings.nproc)

    async def _pause(self, fault: Fault, number: int) -> None:
        """Wait before repetition `number`, longer each time and never in step with other lanes."""
        grown = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0**number)
        grown += random.uniform(0.0, _FIRST_BACKOFF_S)
        if fault.remedy is Remedy.SLOW_DOWN:
            self._pacer.slow_down(grown if fault.wait_s is None else fault.wait_s)
        else:
            await self._clock.sleep(max(grown, fault.wait_s or 0.0))

    def stopped(self, kind: str, note: str, drain_s: float = _DRAIN_S) -> Stopped:
        """The exception for `kind`, with a reason that names the remedy; admits nobody any more."""
        text = _EXPLANATIONS[kind].format(
            endpoint=self._settings.endpoint,
            model=self._settings.model,
            failures=self._failures_in_a_row,
            note=self._shown(note),
        )
        stopped = Stopped(kind, text + _KEPT, drain_s)
        self._pacer.stop(stopped)
        return stopped

    def _shown(self, note: str) -> str:
        return redacted(note, self._settings.secrets)
