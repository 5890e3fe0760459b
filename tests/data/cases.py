"""Single lines of the shared case files, as parameters that carry the case's id."""

from __future__ import annotations

from typing import Any

from tests.shared import shared_cases


def shared_case(file: str, identifier: str) -> list[Any]:
    """The one case, for `parametrize`; without the shared folder a case that skips."""
    return [case for case in shared_cases(file) if case.id in (identifier, "absent")]
