"""One cross-attention layer: its weights from its inputs, its shape, and the mean over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAP_SIDE = 64
"""Side of the square that every map is brought to; published."""
NO_CROSS_ATTENTION = "model has no cross-attention maps"


class NoCrossAttention(ValueError):
    """The model has no cross-attention between picture and words that could be recorded."""


@dataclass(eq=False)
class MapMean:
    """Mean of maps of any size, each brought to one size first; sums on the CPU, float32."""

    side: int = MAP_SIDE
    n_maps: int = 0
    _total: Any = field(default=None, repr=False)

    def add(self, maps: Any) -> None:
        """Add a tensor (tokens, H, W)."""
        import torch

        resized = torch.nn.functional.interpolate(
            maps.detach().to("cpu", torch.float32)[None],
            size=(self.side, self.side),
            mode="bilinear",
            align_corners=False,
        )[0]
        self._total = resized if self._total is None else self._total + resized
        self.n_maps += 1

    @property
    def mean(self) -> NDArray[np.float32]:
        """Shape (tokens, side, side); only after the first `add`."""
        return np.asarray((self._total / self.n_maps).numpy(), dtype=np.float32)


def attention_weights(layer: Any, queries: Any, words: Any, mask: Any = None) -> Any:
    """Softmax of queries and keys of one layer, (batch, heads, pixels, tokens), float32.

    Args:
        layer: an attention module of diffusers.
        queries: its ``hidden_states``, (batch, pixels, channels) or (batch, channels, H, W).
        words: its ``encoder_hidden_states``, (batch, tokens, channels).
        mask: added to the products; (batch, 1, tokens) or None.

    Notes:
        In float32 whatever the layer's own precision: products of float16 may overflow.
    """
    if queries.ndim == 4:
        queries = queries.flatten(2).transpose(1, 2)
    if layer.group_norm is not None:
        queries = layer.group_norm(queries.transpose(1, 2)).transpose(1, 2)
    if layer.norm_cross:
        words = layer.norm_encoder_hidden_states(words)
    query, key = (
        states.unflatten(-1, (layer.heads, -1)).transpose(1, 2)
        for states in (layer.to_q(queries), layer.to_k(words))
    )
    if layer.norm_q is not None:
        query = layer.norm_q(query)
    if layer.norm_k is not None:
        key = layer.norm_k(key)
    products = (query.float() @ key.float().transpose(-1, -2)) * layer.scale
    if mask is not None:
        products = products + mask[: len(products), None].float()
    return products.softmax(-1)


def layer_size(latent_hw: Sequence[int], n_pixels: int) -> tuple[int, int]:
    """Height and width of a layer with so many pixels: the latent, halved and rounded up.

    Raises:
        NoCrossAttention: no number of halvings gives so many.
    """
    height, width = latent_hw
    while height * width > n_pixels:
        height, width = -(-height // 2), -(-width // 2)
    if height * width != n_pixels:
        raise NoCrossAttention(
            f"expected a layer of {tuple(latent_hw)} halved, got {n_pixels} pixels; "
            f"{NO_CROSS_ATTENTION} of a known layout"
        )
    return height, width
