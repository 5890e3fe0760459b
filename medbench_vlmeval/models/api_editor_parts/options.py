"""Options of an editor behind an API, so that a misspelt ceiling cannot go unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .line import EFFORT_OPTIONS

_PUSHED_BY_HOST = {"retry", "verbose", "stream", "use_vllm"}
_NAMED = ("model", "api_key", "base_url", "opening", "image_attempts", "price_per_image")
_OF_BASE = ("name", "seed", "replicas", "reuse_edits")


def without_unknown(settings: dict[str, Any], own: Sequence[str]) -> dict[str, Any]:
    """What of `settings` is left for `ImageEditor`, without what VLMEvalKit pushes into all models.

    Args:
        settings: as given, without what `APIEditor` itself has taken.
        own: names of the service's own settings.

    Raises:
        ValueError: an option that does not exist; the message lists those that do.
    """
    left = {name: value for name, value in settings.items() if name not in _PUSHED_BY_HOST}
    unknown = sorted(set(left) - {*_OF_BASE, *own})
    if unknown:
        possible = sorted({*_OF_BASE, *own, *EFFORT_OPTIONS, *_NAMED})
        raise ValueError(f"expected options among {possible}, got {unknown}; check the spelling")
    return left
