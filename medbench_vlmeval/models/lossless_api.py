"""Models behind an OpenAI-compatible API that get the released bytes of every image."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

from vlmeval.api import OpenAIWrapper

from ..registry import register_editor


@register_editor("GPT-4o-lossless", model="gpt-4o-2024-08-06", temperature=0, retry=10)
class LosslessAPI(OpenAIWrapper):
    """VLMEvalKit's client, except that images go out as they are.

    The host re-encodes every image as JPEG and enlarges small ones. Here a PNG or JPEG of 8 bits is
    sent byte for byte, anything else is converted losslessly to PNG, and nothing is resized. Any
    other model or server: ``--config`` with
    ``{"class": "LosslessAPI", "model": "...", "api_base": "http://.../v1/chat/completions"}``.

    The key comes from ``OPENAI_API_KEY`` or the argument, and is not shown to the host's log, which
    prints keys.

    Args:
        name: name in the model zoo; not used.
        key: of the server.
        detail: ``high`` or ``auto``; ``low`` lets the server shrink what it got.
        settings: of VLMEvalKit's `OpenAIWrapper`.
    """

    SENDS_ORIGINAL_BYTES = True

    def __init__(
        self, *, name: str = "", key: str | None = None, detail: str = "high", **settings: Any
    ) -> None:
        super().__init__(img_detail=detail, key="(not shown)", **settings)
        self.key = os.environ.get("OPENAI_API_KEY", "") if key is None else key

    def prepare_itlist(self, inputs: list[dict[str, str]]) -> list[dict[str, Any]]:
        """The parts of one message, in their order."""
        return [part for item in inputs if (part := self._part(item)) is not None]

    def _part(self, item: dict[str, str]) -> dict[str, Any] | None:
        from ..images import encode_for_judge

        if item["type"] == "text":
            return {"type": "text", "text": item["value"]} if item["value"] else None
        if item["type"] != "image":
            raise ValueError(f"expected text or image, got {item['type']!r}")
        image = encode_for_judge(Path(item["value"]))
        url = f"data:{image.mime};base64,{base64.b64encode(image.data).decode('ascii')}"
        return {"type": "image_url", "image_url": {"url": url, "detail": self.img_detail}}
