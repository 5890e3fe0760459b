"""Records where a UNet looks for each word of an instruction, while it edits.

As in MedEBench's released notebook (src/attention_map.ipynb): of every cross-attention layer at
every step, queries and keys are computed again from the layer's own inputs; the softmax of their
products is averaged over heads, resized to 64 × 64 (bilinear) and averaged over layers and steps.
The notebook keeps each map and takes part 0 of the batch; here sums are kept, in float32, and the
part is the conditional one by the pipeline's own order (`attention_branches`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .attention_branches import BranchUnknown, ConditionalBranch
from .attention_layers import (
    MAP_SIDE,
    NO_CROSS_ATTENTION,
    MapMean,
    NoCrossAttention,
    attention_weights,
    layer_size,
)
from .diffusers_loading import import_diffusers
from .diffusers_plan import PipelinePlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MAP_SIDE",
    "NO_CROSS_ATTENTION",
    "AttentionRecording",
    "BranchUnknown",
    "MapMean",
    "NoCrossAttention",
    "attention_weights",
    "check_has_unet",
    "cross_attention_layers",
    "layer_size",
    "recorded_attention",
]


@dataclass(eq=False)
class AttentionRecording:
    """What was recorded in one call of a pipeline."""

    tokens: tuple[str, ...]
    """The prompt's tokens as the tokenizer names them, start and end included."""
    truncated: bool
    """The prompt was longer than what the text encoder reads."""
    branch: ConditionalBranch = field(repr=False)
    averaged: MapMean = field(default_factory=MapMean, repr=False)
    n_steps: int = 0
    """Calls of the UNet."""
    _size_hw: tuple[int, int] = (0, 0)
    _position: int = 0

    def maps(self) -> NDArray[np.float32]:
        """Attention by token: (tokens, 64, 64), the mean over heads, layers and steps.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self.averaged.n_maps:
            raise ValueError(
                "expected attention of at least one step, got none; call the pipeline inside the "
                "block, and do not compile its UNet"
            )
        return self.averaged.mean

    def _step(self, module: Any, args: Any, kwargs: Any) -> None:
        sample = kwargs.get("sample", args[0] if args else None)
        words = kwargs.get("encoder_hidden_states", args[2] if len(args) > 2 else None)
        if sample is None or words is None or words.shape[1] < len(self.tokens):
            raise NoCrossAttention(f"{NO_CROSS_ATTENTION} (the UNet is given no words)")
        self._size_hw = tuple(sample.shape[-2:])
        self._position = self.branch.position(words)
        self.n_steps += 1

    def _layer(self, layer: Any, args: Any, kwargs: Any) -> None:
        import torch

        at = slice(self._position, self._position + 1)
        queries = kwargs.get("hidden_states", args[0] if args else None)
        words = kwargs.get("encoder_hidden_states", args[1] if len(args) > 1 else None)
        mask = kwargs.get("attention_mask", args[2] if len(args) > 2 else None)
        if words is None:
            return
        with torch.no_grad():
            weights = attention_weights(layer, queries[at], words[at], mask)
            averaged = weights[0, :, :, : len(self.tokens)].mean(0)
        height, width = layer_size(self._size_hw, averaged.shape[0])
        self.averaged.add(averaged.T.reshape(-1, height, width))


@contextmanager
def recorded_attention(pipeline: Any, prompt: str) -> Iterator[AttentionRecording]:
    """Record the cross-attention of a pipeline of diffusers while the block runs.

    Call the pipeline once inside, for one picture and this prompt. Its attention processors stay as
    they are, whichever they are: inputs are read by hooks of the layers, which are gone after the
    block, also after an exception. The result of the call is the same as without.

    Args:
        pipeline: with ``unet``, ``tokenizer`` and ``text_encoder`` (of SDXL the first that is
            there).
        prompt: what the pipeline is asked; the text that is tokenized.

    Yields:
        The recording; `AttentionRecording.maps` gives the maps after the call.

    Raises:
        NoCrossAttention: a diffusion transformer, or layers that mix words and picture.
        BranchUnknown: raised inside the call, see `ConditionalBranch.position`.
    """
    layers = cross_attention_layers(pipeline)
    recording = _recording(pipeline, prompt)
    with ExitStack() as hooks:
        # hooks are removed in reverse order, whatever the block raises
        def hook(handle: Any) -> None:
            hooks.callback(handle.remove)

        hook(pipeline.unet.register_forward_pre_hook(recording._step, with_kwargs=True))
        encoder = _first(pipeline, "text_encoder", "text_encoder_2")
        hook(encoder.register_forward_hook(recording.branch.hear, with_kwargs=True))
        for layer in layers:
            hook(layer.register_forward_pre_hook(recording._layer, with_kwargs=True))
        yield recording


def check_has_unet(plan: PipelinePlan) -> None:
    """See that a pipeline has a UNet before its weights are loaded, as far as its class tells.

    Raises:
        NoCrossAttention: it has none.
        ImportError: diffusers is not installed.
    """
    if plan.custom_pipeline:
        return
    cls = getattr(import_diffusers(), plan.pipeline, None)
    # loading says what is wrong with a class that is not there
    if cls is not None and "unet" not in inspect.signature(cls.__init__).parameters:
        raise NoCrossAttention(f"{NO_CROSS_ATTENTION} ({plan.pipeline} has no UNet)")


def cross_attention_layers(pipeline: Any) -> list[Any]:
    """The layers of a pipeline's UNet in which the picture attends to words.

    Raises:
        NoCrossAttention: there is no UNet, it has no such layer, or its layers attend to words and
            picture together.
    """
    unet = getattr(pipeline, "unet", None)
    if unet is None:
        raise NoCrossAttention(f"{NO_CROSS_ATTENTION} ({type(pipeline).__name__} has no UNet)")
    layers = [it for it in unet.modules() if getattr(it, "is_cross_attention", False)]
    if not layers or any(getattr(it, "added_kv_proj_dim", None) is not None for it in layers):
        raise NoCrossAttention(f"{NO_CROSS_ATTENTION} (layers of {type(unet).__name__})")
    return layers


def _recording(pipeline: Any, prompt: str) -> AttentionRecording:
    tokenizer = _first(pipeline, "tokenizer", "tokenizer_2")
    longest = tokenizer.model_max_length
    ids = tokenizer(prompt, truncation=True, max_length=longest)["input_ids"]
    whole = tokenizer(prompt, truncation=True, max_length=longest + 1)["input_ids"]
    names = [it.__name__ for it in type(pipeline).__mro__]
    return AttentionRecording(
        tokens=tuple(tokenizer.convert_ids_to_tokens(ids)),
        truncated=len(whole) > len(ids),
        branch=ConditionalBranch(names, ids),
    )


def _first(pipeline: Any, *names: str) -> Any:
    return next(it for name in names if (it := getattr(pipeline, name, None)) is not None)
