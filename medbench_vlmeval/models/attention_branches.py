"""Which part of a UNet's batch is conditioned on the instruction, looked up and then checked.

With guidance a pipeline of diffusers puts several copies of one edit into a batch. Their order, as
read in diffusers 0.42: InstructPix2Pix (SD and SDXL) has words and picture, picture alone, neither;
image to image (SD and SDXL) and Imagic have no words, words.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

logger = logging.getLogger(__name__)

Evidence = Literal["prompt", "other", ""]
"""What a part of the batch was conditioned on, as far as the text encoder tells."""

CONDITIONAL = {1: 0, 2: 1, 3: 0}
"""Number of copies to the position of the conditional one, in every pipeline of `LOOKED_UP`."""
LOOKED_UP = frozenset(
    {
        "ImagicStableDiffusionPipeline",
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionInstructPix2PixPipeline",
        "StableDiffusionPipeline",
        "StableDiffusionXLImg2ImgPipeline",
        "StableDiffusionXLInstructPix2PixPipeline",
        "StableDiffusionXLPipeline",
    }
)
_TOLERANCE = 1e-3


class BranchUnknown(ValueError):
    """Which part of a batch belongs to the instruction cannot be told, or signs contradict."""


class ConditionalBranch:
    """Finds the conditional part of a batch.

    Args:
        pipeline: name of its class, and of those it derives from.
        prompt_ids: the token ids of the instruction, start and end included, padding not.
    """

    def __init__(self, pipeline: Sequence[str], prompt_ids: Sequence[int]) -> None:
        self._names = tuple(pipeline)
        self._prompt_ids = list(prompt_ids)
        self._heard: list[tuple[bool, list[Any]]] = []
        self._known: dict[int, int] = {}
        self.checked = False
        """The text encoder's outputs agree with the position."""

    def hear(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        """Forward hook of the text encoder: remembers which words gave which states."""
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is None:
            return
        length = len(self._prompt_ids)
        states = [output[0], *(getattr(output, "hidden_states", None) or ())]
        for row, row_ids in enumerate(ids.tolist()):
            is_prompt = row_ids[:length] == self._prompt_ids
            self._heard.append((is_prompt, [it[row] for it in states if it.ndim == 3]))

    def position(self, words: Any) -> int:
        """Position of the conditional part, from the states (batch, tokens, channels) of a step.

        Raises:
            BranchUnknown: several edits in one batch, a pipeline that was not looked up and shows
                no sign either, or signs that contradict the table.
        """
        n_copies = int(words.shape[0])
        if n_copies not in self._known:
            self._known[n_copies] = self._found(n_copies, [self._evidence(it) for it in words])
        return self._known[n_copies]

    def _found(self, n_copies: int, evidence: Sequence[Evidence]) -> int:
        looked_up = CONDITIONAL.get(n_copies) if LOOKED_UP & set(self._names) else None
        shown = [at for at, it in enumerate(evidence) if it == "prompt"]
        left = [at for at, it in enumerate(evidence) if it != "other"]
        candidates = shown or (left if len(left) == 1 else [])
        if len(candidates) == 1 and looked_up in (None, candidates[0]):
            self.checked = True
            return candidates[0]
        if looked_up is not None and not candidates and evidence[looked_up] != "other":
            logger.warning(
                "%s: the conditional part of the batch is taken from a table (%d of %d); what the "
                "text encoder gave does not show it",
                self._names[0],
                looked_up + 1,
                n_copies,
            )
            return looked_up
        raise BranchUnknown(
            f"expected one conditional part in a batch of {n_copies} of {self._names[0]}, got "
            f"{len(candidates)} by the text encoder and {_place(looked_up)} by the table; edit one "
            "picture at a time, with a pipeline of " + ", ".join(sorted(LOOKED_UP))
        )

    def _evidence(self, words: Any) -> Evidence:
        for is_prompt, states in self._heard:
            if any(_is_part_of(state, words) for state in states):
                return "prompt" if is_prompt else "other"
        # SDXL takes zeros for an empty prompt.
        return "other" if not words.any() else ""


def _is_part_of(state: Any, words: Any) -> bool:
    """Whether `state` (tokens, channels) is what `words` begins with, channel by channel."""
    import torch

    if state.shape[0] != words.shape[0] or state.shape[1] > words.shape[1]:
        return False
    beginning = words[:, : state.shape[1]].float()
    return torch.allclose(state.to(beginning), beginning, rtol=_TOLERANCE, atol=_TOLERANCE)


def _place(position: int | None) -> str:
    return "no place" if position is None else f"place {position + 1}"
