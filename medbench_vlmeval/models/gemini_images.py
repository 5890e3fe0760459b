"""Image editors behind Gemini's ``generateContent``, through the google-genai client."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..registry import register_editor
from .api_editor import APIEditor, ServiceNames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .api_editor_parts.answers import EditAnswer, Upload

_CONVERSATIONAL = "Act as a careful image editor and carry out this change on the picture:"
_REFUSALS = {
    "SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "BLOCKLIST",
    "SPII", "RECITATION", "IMAGE_RECITATION", "MODEL_ARMOR",
}  # fmt: skip


@register_editor(
    "gemini-2.0-flash-exp-image",
    model="gemini-2.0-flash-exp",
    opening=_CONVERSATIONAL,
    image_attempts=3,
)
@register_editor("gemini-2.5-flash-image", model="gemini-2.5-flash-image")
class GeminiImagesEditor(APIEditor):
    """Asks for text and image, and takes the first image of the answer as it is.

    Args:
        model: as the service calls it.
        temperature: `None`: not sent, as published.
        options: of `APIEditor` and `ImageEditor`.

    Notes:
        MedEBench's released script sends a line about image editing, the instruction and the RGB
        image to ``gemini-2.0-flash-exp``, sets neither temperature nor seed, and tries three times.
        The entry ``gemini-2.0-flash-exp-image`` does the same with a line in our own words.
        Differences: a PNG, JPEG or WebP of 8 bits goes out as released; pauses after failures grow
        and are apart from the three tries; an edit without an image is counted and not left out.
        In-context editing was not released: demonstrations are sent in their order, then the image
        to edit, then the text.
    """

    SERVICE = ServiceNames(
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        addresses=("GOOGLE_GEMINI_BASE_URL",),
        default="https://generativelanguage.googleapis.com",
        paths=("/models", "/v1beta"),
    )

    def __init__(
        self,
        *,
        model: str = "gemini-2.5-flash-image",
        temperature: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model=model, temperature=temperature, **options)
        self._client: Any = None

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("temperature",)

    def load_client(self) -> None:
        if self._client is not None:
            return
        try:
            from google import genai
        except ImportError as error:
            raise ImportError(
                'this editor needs google-genai: pip install "medbench-vlmeval[gemini]"'
            ) from error
        from ..judging.settings import KEYLESS

        options = genai.types.HttpOptions(
            base_url=self._address.url,
            api_version="v1beta",
            timeout=max(1, round(self._effort.timeout_s * 1000)),
        )
        key = self._address.api_key or KEYLESS
        self._client = genai.Client(api_key=key, vertexai=False, http_options=options)

    def send(self, words: str, uploads: Sequence[Upload]) -> EditAnswer:
        from google.genai import errors
        from pydantic import ValidationError

        from .api_editor_parts.answers import EditAnswer
        from .api_editor_parts.gemini_faults import failure_of, no_answer

        try:
            response = self._generated(words, uploads)
        except errors.APIError as error:
            failure = failure_of(error)
        except _transport_errors() as error:
            slow = "Timeout" in type(error).__name__
            connecting = type(error).__name__ == "ConnectTimeout"
            failure = no_answer(
                f"{self._effort.timeout_s:g} s" if slow else str(error) or type(error).__name__,
                timed_out=slow and not connecting,
            )
        except ValidationError:
            return EditAnswer(b"", text="the answer cannot be read; its image is damaged")
        except ValueError as error:
            failure = no_answer(f"the answer is not JSON ({type(error).__name__})", status=502)
        else:
            return _answer(response)
        # Raised outside the except clauses: what they caught carries the request, key included.
        raise failure

    def _generated(self, words: str, uploads: Sequence[Upload]) -> Any:
        from google.genai import types

        text = types.Part.from_text(text=words)
        images = [types.Part.from_bytes(data=it.data, mime_type=it.mime) for it in uploads]
        # Published for one image: text, then image.
        parts = [text, *images] if len(images) == 1 else [*images, text]
        return self._client.models.generate_content(
            model=self.settings["model_id"],
            contents=[types.Content(role="user", parts=parts)],
            config=types.GenerateContentConfig(
                response_modalities=["TEXT", "IMAGE"],
                temperature=self.settings["temperature"],
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )


def _answer(response: Any) -> EditAnswer:
    from .api_editor_parts.answers import EditAnswer

    candidate = next(iter(response.candidates or ()), None)
    content = getattr(candidate, "content", None)
    # A thinking model's drafts come as thoughts.
    parts = [it for it in getattr(content, "parts", None) or () if not getattr(it, "thought", None)]
    known: dict[str, Any] = {
        "text": "".join(it.text for it in parts if it.text),
        "model": response.model_version or "",
        "finish_reason": _name(getattr(candidate, "finish_reason", None)),
        "request_id": getattr(response, "response_id", None) or "",
        "usage": _usage(response.usage_metadata),
    }
    image, mime = _first_image(parts)
    if image is not None:
        return EditAnswer(image, details={"mime": mime}, **known)
    feedback = getattr(response, "prompt_feedback", None)
    blocked = _name(getattr(feedback, "block_reason", None))
    declined = bool(blocked) or known["finish_reason"] in _REFUSALS
    said = getattr(feedback, "block_reason_message", "") or getattr(candidate, "finish_message", "")
    known["text"] = known["text"] or said or (f"blocked: {blocked}" if blocked else "")
    return EditAnswer(declined=declined, **{**known, "finish_reason": _reason(known, blocked)})


def _reason(known: Mapping[str, Any], blocked: str) -> str:
    return known["finish_reason"] or blocked


def _first_image(parts: Iterable[Any]) -> tuple[bytes | None, str]:
    for part in parts:
        blob = part.inline_data
        if blob is not None and blob.data is not None:
            return blob.data, blob.mime_type or ""
    return None, ""


def _name(value: Any) -> str:
    """The name of a reason; empty for none and for one that is not specified."""
    name = str(getattr(value, "value", value) or "")
    return "" if name.endswith("UNSPECIFIED") else name


def _usage(said: Any) -> dict[str, int]:
    if said is None:
        return {}
    found = {
        "input_tokens": said.prompt_token_count,
        "output_tokens": said.candidates_token_count,
        "total_tokens": said.total_token_count,
        **_input_tokens(getattr(said, "prompt_tokens_details", None)),
    }
    return {name: count for name, count in found.items() if count is not None}


def _input_tokens(details: Any) -> dict[str, int | None]:
    names = {"TEXT": "text_tokens", "IMAGE": "image_tokens"}
    counted = [(_name(it.modality), it.token_count) for it in details or ()]
    return {names[kind]: count for kind, count in counted if kind in names}


def _transport_errors() -> tuple[type[Exception], ...]:
    """What the libraries raise that the client may be built on, as far as they are loaded."""
    found: list[type[Exception]] = [OSError]
    for name, error in (
        ("httpx", "TransportError"),
        ("httpx2", "TransportError"),
        ("requests", "RequestException"),
    ):
        if name in sys.modules:
            found.append(getattr(sys.modules[name], error))
    return tuple(found)
