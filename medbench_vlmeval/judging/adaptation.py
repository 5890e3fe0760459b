"""What an endpoint has refused so far, and how requests are written since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import bodies
from .bodies import PreparedMessage
from .faults import MESSAGES


@dataclass(frozen=True)
class Adaptation:
    """Departures from the request as asked for. The same for all lanes of a judge."""

    length_field: str = "max_tokens"
    """`max_completion_tokens` for endpoints that want it called so."""
    dropped: frozenset[str] = frozenset()
    one_message: bool = False
    """Consecutive messages of one role are sent as one."""

    def parameters(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The fields as sent."""
        named = {self.length_field if n == "max_tokens" else n: v for n, v in asked.items()}
        return {name: value for name, value in named.items() if name not in self.dropped}

    def body(
        self, model: str, messages: Sequence[PreparedMessage], asked: Mapping[str, Any]
    ) -> bytes:
        """The request body as sent."""
        sent = bodies.merged(messages) if self.one_message else messages
        return bodies.body(model, sent, self.parameters(asked))

    def after_refusal_of(self, param: str, asked: Mapping[str, Any]) -> Adaptation | None:
        """What to try next when `param` was refused; `None` when nothing is left to change."""
        if param == MESSAGES:
            return None if self.one_message else replace(self, one_message=True)
        if param not in self.parameters(asked):
            return None
        if param == "max_tokens" and "max_completion_tokens" not in self.dropped:
            return replace(self, length_field="max_completion_tokens")
        return replace(self, dropped=self.dropped | {param})

    def record(self) -> dict[str, Any]:
        """For logs and manifests; empty when nothing had to be changed."""
        changes: dict[str, Any] = {}
        if self.length_field != "max_tokens":
            changes["max_tokens_sent_as"] = self.length_field
        if self.dropped:
            changes["dropped"] = sorted(self.dropped)
        if self.one_message:
            changes["consecutive_messages_joined"] = True
        return changes
