"""What becomes of an image on its way from the data to a model inside VLMEvalKit.

A model that runs on this machine opens the file itself. A model behind an API gets what the host
encodes: JPEG, with images of a short edge below 100 pixels enlarged. Where noise and compression
are what is asked about, a reader of the number has to know.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LOOKED_AT = 32


def image_fidelity(images: Sequence[Path], model: str) -> dict[str, Any]:
    """How a model saw the images: for a manifest, with notes for the log.

    Args:
        images: files that the questions show.
        model: as the zoo calls it; of other models it is not known how they take images.

    Returns:
        ``route``: ``file`` (opened by a local model), ``original bytes`` (our lossless API
        wrapper), ``host encoding`` (any other API model) or ``unknown``. For the last two,
        ``host_encoding`` describes what the host's encoder makes of up to 32 of the images, evenly
        chosen: how many change, are enlarged, and the mean signal-to-noise ratio in decibels.
    """
    route = _route(model)
    facts: dict[str, Any] = {"n": len(images), "route": route, "notes": []}
    if route in ("file", "original bytes") or not images:
        return facts
    encoding = _host_encoding(images[:: -(-len(images) // _LOOKED_AT)])
    facts["host_encoding"] = encoding
    if encoding["changed"]:
        whom = "models behind an API" if route == "unknown" else model
        mean = encoding["mean_psnr"]
        facts["notes"].append(
            f"VLMEvalKit sends {whom} re-encoded images ({encoding['format']}): "
            f"{encoding['changed']} of {encoding['checked']} looked at differ"
            + ("" if mean is None else f" (mean PSNR {mean:.1f} dB)")
            + f", {encoding['enlarged']} are enlarged; "
            "docs/medq.md says how to send the original bytes"
        )
    return facts


def _route(model: str) -> str:
    from vlmeval.config import supported_VLM

    cls = getattr(supported_VLM.get(model), "func", None)
    if cls is None:
        return "unknown"
    if getattr(cls, "SENDS_ORIGINAL_BYTES", False):
        return "original bytes"
    return "host encoding" if getattr(cls, "is_api", False) else "file"


def _host_encoding(images: Sequence[Path]) -> dict[str, Any]:
    import numpy as np
    from PIL import Image
    from vlmeval.smp import encode_image_file_to_base64

    from ..images import ImageUnreadable, read_rgb
    from ..metrics import psnr

    counts = {"checked": 0, "changed": 0, "enlarged": 0, "unreadable": 0}
    formats: set[str] = set()
    ratios: list[float] = []
    for path in images:
        try:
            before = read_rgb(path).pixels
        except ImageUnreadable:
            counts["unreadable"] += 1
            continue
        counts["checked"] += 1
        sent = io.BytesIO(base64.b64decode(encode_image_file_to_base64(str(path))))
        with Image.open(sent) as opened:
            formats.add(opened.format or "unknown")
            after = np.asarray(opened.convert("RGB"))
        if after.shape != before.shape:
            counts["enlarged"] += 1
        ratio = psnr(before, after) if after.shape == before.shape else None
        counts["changed"] += ratio is None or math.isfinite(ratio)
        ratios += [ratio] if ratio is not None and math.isfinite(ratio) else []
    mean = sum(ratios) / len(ratios) if ratios else None
    return {"format": ", ".join(sorted(formats)), "mean_psnr": mean, **counts}
