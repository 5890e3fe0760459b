"""Batches that shrink when memory runs out, and lose nothing when one of their edits fails."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

logger = logging.getLogger(__name__)

Asked = TypeVar("Asked")
Made = TypeVar("Made")

PIPELINE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    RuntimeWarning,
    TypeError,
    ValueError,
)
"""What may go wrong inside a pipeline, and concerns only the edits that it was called for."""

_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


class Batches:
    """Calls something with as many items at once as memory allows.

    Args:
        size: how many to begin with. It only ever shrinks: `size` says what fits now.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def run(
        self, items: Sequence[Asked], call: Callable[[Sequence[Asked]], list[Made]]
    ) -> list[Made | Exception]:
        """What `call` made of each item, in order, or the exception that it ended in.

        Out of memory, the batch is halved, and stays so. Another exception of a batch makes its
        items come one by one, so that each has its own result.
        """
        results: list[Made | Exception] = []
        rest = list(items)
        while rest:
            made = self._attempt(rest[: self.size], call)
            results += made
            rest = rest[len(made) :]
        return results

    def _attempt(
        self, batch: Sequence[Asked], call: Callable[[Sequence[Asked]], list[Made]]
    ) -> list[Made | Exception]:
        failure: Exception
        try:
            return list(call(batch))
        except PIPELINE_ERRORS as error:
            failure = error
        exhausted = is_out_of_memory(failure)
        if exhausted:
            # The frames of the traceback hold the tensors that have to go.
            failure = _without_frames(failure)
            free_memory()
        if len(batch) == 1:
            return [failure]
        if exhausted:
            self.size = max(1, len(batch) // 2)
            logger.warning(
                "out of memory with %d edits at once; going on with %d", len(batch), self.size
            )
            return []
        logger.warning(
            "a batch of %d edits failed (%s: %s); editing one by one",
            len(batch),
            type(failure).__name__,
            failure,
        )
        return [result for item in batch for result in self._attempt([item], call)]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory did not suffice, on a GPU or on the CPU."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _NO_MEMORY)


def free_memory() -> None:
    """Give back what Python and torch hold but do not need."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _without_frames(error: Exception) -> Exception:
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
