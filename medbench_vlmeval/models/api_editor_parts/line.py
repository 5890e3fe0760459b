"""One edit over a line that fails: wait, ask again, give up, or stop everything."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .answers import EditAnswer
from .budget import BudgetReached, EditBudget, EditPrice
from .gate import Gate

if TYPE_CHECKING:
    from ...judging.faults import Failure, Fault

logger = logging.getLogger(__name__)

LONGEST_WAIT_S = 600.0
"""A service that asks for a longer pause is not waited for."""

IMAGE_LOST = "image_lost"
"""Code of a failure after the service had made, and charged, an image."""
REFUSED_SETTING = "refused_setting"
"""Code of a failure that every edit would meet, because every request has what was refused."""

_LONGEST_BACKOFF_S = 60.0
_FEWEST_FAILURES_IN_A_ROW = 8
_REPORT_EVERY = 100

_EXPLANATIONS = {
    "bad_key": "{service} did not accept the key ({note}); check the key and what it may do",
    "no_key": "there is no key for {service}; {note}",
    "package": "{note}",
    "unknown_model": "{service} knows no such model, or the address is wrong ({note}); check "
    "model and base_url",
    "settings": "{service} does not take a setting of every edit ({note}); change it in --config",
    "quota": "the quota or credit of the account at {service} is used up ({note}); add credit "
    "and run again",
    "rate_limit": "{service} asks for a longer pause than we wait ({note}); run again later",
    "unreachable": "{service} cannot be reached ({note}); check base_url and the network",
    "unavailable": "{service} has failed too many edits in a row ({note}); run again when it works",
    "budget": "the next edit could exceed the ceiling ({note}); raise it and run again",
}
_KEPT = "; nothing more is asked, and edits made so far are kept"


@dataclass(frozen=True)
class Effort:
    """How hard to try, and what it may cost.

    Raises:
        ValueError: a number outside its range.
    """

    max_concurrency: int = 8
    retries: int = 5
    backoff_s: float = 1.0
    """The first pause after a passing failure is drawn from 0 to this, and doubles each time."""
    timeout_s: float = 300.0
    max_cost: float | None = None
    max_images: int | None = None

    def __post_init__(self) -> None:
        least = {"max_concurrency": 1, "retries": 0, "backoff_s": 0, "timeout_s": 0.001}
        for name, lowest in {**least, "max_cost": 0, "max_images": 0}.items():
            value = getattr(self, name)
            if value is not None and not value >= lowest:
                raise ValueError(f"expected {name} of at least {lowest}, got {value!r}")

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Effort:
        """The effort that `options` ask for; its options are taken out of them."""
        return cls(**{name: options.pop(name) for name in EFFORT_OPTIONS if name in options})


EFFORT_OPTIONS = tuple(it.name for it in fields(Effort))


class EditingStopped(Exception):
    """No further request makes sense, for a reason that names the remedy."""


class EditFailed(Exception):
    """This edit got no answer; others may."""


class _Passing(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.note)
        self.fault = fault


class EditLine:
    """Carries the requests of all threads of one editor.

    Args:
        service: what to call the service in messages.
        effort: retries, pauses and ceilings.
        shown: takes the secrets out of a text.
    """

    def __init__(self, service: str, effort: Effort, shown: Callable[[str], str]) -> None:
        self._service = service
        self._effort = effort
        self._shown = shown
        self._gate = Gate(effort.max_concurrency)
        self._lock = threading.Lock()
        self._answers = 0
        self._failures_in_a_row = 0
        self._finished = 0
        self.budget = EditBudget(effort.max_cost, effort.max_images)

    def answer(self, send: Callable[[], EditAnswer], price: EditPrice | None) -> EditAnswer:
        """The service's answer to `send`, which raises `Failure` when there is none.

        Raises:
            EditFailed: no answer after all repetitions, or the request itself is not acceptable.
            EditingStopped: the cause concerns every edit.
        """
        for number in range(self._effort.retries + 1):
            try:
                return self._transmit(send, price)
            except _Passing as passing:
                fault = passing.fault
            if number < self._effort.retries:
                self._pause(fault, number)
        raise self._gave_up(fault)

    def _transmit(self, send: Callable[[], EditAnswer], price: EditPrice | None) -> EditAnswer:
        from ...judging.faults import Failure

        dearest = price.dearest if price is not None else 0.0
        with self._gate.admitted():
            try:
                self.budget.hold(dearest)
            except BudgetReached as reached:
                raise self.stopped("budget", str(reached)) from None
            cost, images = 0.0, 0
            try:
                answer = send()
                cost, images = (price.of(answer.usage) if price else 0.0), 1
            except Failure as failure:
                failed = failure
                # What was too slow for us may have been made, and charged, all the same.
                charged = failure.timed_out or failure.code == IMAGE_LOST
                cost, images = (dearest, 1) if charged else (0.0, 0)
            else:
                self._answered()
                return answer
            finally:
                self.budget.settle(dearest, cost=cost, images=images)
                self._report()
            # Inside the gate, so that nobody is admitted between a failure and what it means.
            return self._meaning_of(failed)

    def _meaning_of(self, failure: Failure) -> EditAnswer:
        from ...judging.faults import Remedy, fault_of

        fault = fault_of(failure)
        if failure.code == REFUSED_SETTING:
            raise self.stopped("settings", fault.note)
        if fault.remedy is Remedy.STOP:
            raise self.stopped(fault.kind, fault.note)
        if fault.wait_s is not None and fault.wait_s > LONGEST_WAIT_S:
            raise self.stopped("rate_limit", f"{fault.note}, wait {fault.wait_s:.0f} s")
        if fault.remedy is Remedy.REFUSED:
            self._answered()
            return EditAnswer(text=self._shown(fault.note), declined=True, is_free=True)
        if fault.remedy in (Remedy.SLOW_DOWN, Remedy.REPEAT):
            if fault.remedy is Remedy.SLOW_DOWN and fault.wait_s is not None:
                self._gate.slow_down(fault.wait_s)
            raise _Passing(fault)
        raise self._gave_up(fault)

    def _answered(self) -> None:
        with self._lock:
            self._answers += 1
            self._failures_in_a_row = 0
        self._gate.succeeded()

    def _pause(self, fault: Fault, number: int) -> None:
        """Wait before repetition `number`, longer each time and never in step with others."""
        from ...judging.faults import Remedy

        longest = min(_LONGEST_BACKOFF_S, self._effort.backoff_s * 2.0**number)
        drawn = random.uniform(0.0, longest)
        if fault.remedy is not Remedy.SLOW_DOWN:
            time.sleep(max(drawn, fault.wait_s or 0.0))
        elif fault.wait_s is None:
            self._gate.slow_down(drawn)

    def _gave_up(self, fault: Fault) -> Exception:
        with self._lock:
            self._failures_in_a_row += 1
            failures, answers = self._failures_in_a_row, self._answers
        if fault.is_connection and not answers:
            return self.stopped("unreachable", fault.note)
        if failures >= max(_FEWEST_FAILURES_IN_A_ROW, 2 * self._effort.max_concurrency):
            return self.stopped("unavailable", fault.note)
        return EditFailed(self._shown(fault.note))

    def stopped(self, kind: str, note: str) -> EditingStopped:
        """The exception for `kind`; nobody is admitted any more, and the log says so once."""
        text = _EXPLANATIONS[kind].format(service=self._service, note=self._shown(note))
        error = EditingStopped(text + _KEPT)
        if self._gate.stop(error):
            logger.error("%s; %s", error, self.summary())
        return error

    def summary(self) -> str:
        """Requests so far and what they cost, in words."""
        budget = self.budget
        return (
            f"{budget.requests} requests to {self._service}, {budget.images} answered or possibly "
            f"charged, {budget.spent:.4f} US dollars by the known prices"
        )

    def _report(self) -> None:
        with self._lock:
            self._finished += 1
            due = self._finished % _REPORT_EVERY == 0
        if due:
            logger.info("%s", self.summary())
