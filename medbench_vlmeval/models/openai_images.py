"""Image editors behind ``/v1/images/edits``: OpenAI's, and any server that speaks the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ..registry import register_editor
from .api_editor import APIEditor, ServiceNames

if TYPE_CHECKING:
    from ..judging.faults import Failure
    from .api_editor_parts.answers import EditAnswer, Upload

_CONNECT_SECONDS = 20.0
_SENT = ("size", "quality", "output_format", "input_fidelity", "background")
_OF_EVERY_REQUEST = {*_SENT, "response_format"}
_DETAILS = ("size", "quality", "output_format", "background")


@register_editor("gpt-image-1", model="gpt-image-1")
@register_editor("gpt-image-1-mini", model="gpt-image-1-mini")
class OpenAIImagesEditor(APIEditor):
    """Uploads the image and the instruction to ``/images/edits``.

    Args:
        model: as the server calls it.
        size: ``auto`` or e.g. ``1024x1024``; `None` sends none.
        quality: e.g. ``low``, ``medium``, ``high``.
        output_format: ``png``, ``jpeg`` or ``webp``.
        input_fidelity: ``low`` or ``high``.
        background: ``opaque``, ``transparent`` or ``auto``.
        options: of `APIEditor` and `ImageEditor`.

    Notes:
        What is `None` is not sent, and the server's default applies. There is no way to send the
        region of interest as mask: it would tell the model where the answer is.
        ``dall-e-2`` is not offered: it takes square PNGs and fills a masked area, and does not
        follow an instruction about a whole image.
    """

    SERVICE = ServiceNames(
        keys=("OPENAI_API_KEY",),
        addresses=("OPENAI_API_BASE", "OPENAI_BASE_URL"),
        default="https://api.openai.com/v1",
        paths=("/images/edits", "/images/generations", "/images", "/chat/completions"),
    )

    def __init__(
        self,
        *,
        model: str = "gpt-image-1",
        size: str | None = "auto",
        quality: str | None = None,
        output_format: str | None = None,
        input_fidelity: str | None = None,
        background: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            model=model,
            size=size,
            quality=quality,
            output_format=output_format,
            input_fidelity=input_fidelity,
            background=background,
            **options,
        )
        self._client: Any = None

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return _SENT

    def load_client(self) -> None:
        if self._client is not None:
            return
        try:
            import openai
        except ImportError as error:
            raise ImportError('this editor needs openai: pip install "openai>=1.56"') from error
        from ..judging.settings import KEYLESS

        limit = self._effort.timeout_s
        self._client = openai.OpenAI(
            api_key=self._address.api_key or KEYLESS,
            base_url=self._address.url,
            default_query=dict(parse_qsl(self._address.query)) or None,
            timeout=openai.Timeout(limit, connect=min(limit, _CONNECT_SECONDS)),
            max_retries=0,
        )

    def send(self, words: str, uploads: Sequence[Upload]) -> EditAnswer:
        import openai

        try:
            response = self._posted(words, uploads)
        except openai.APITimeoutError as error:
            connecting = type(error.__cause__).__name__ == "ConnectTimeout"
            failure = _no_answer(f"{self._effort.timeout_s:g} s", timed_out=not connecting)
        except openai.APIConnectionError as error:
            failure = _no_answer(str(error.__cause__ or error))
        except openai.APIStatusError as error:
            failure = _failure(error)
        except ValueError as error:
            failure = _no_answer(f"the answer is not JSON ({error})", status=502)
        else:
            return self._answer(response)
        # Raised outside the except clauses: what they caught carries the request, key included.
        raise failure

    def _posted(self, words: str, uploads: Sequence[Upload]) -> Any:
        """The response; posted as such, because older clients know fewer fields than servers."""
        from openai.types import ImagesResponse

        field = "image" if len(uploads) == 1 else "image[]"
        chosen = {name: self.settings[name] for name in _SENT}
        body = {"model": self.settings["model_id"], "prompt": words, **chosen}
        return self._client.post(
            "/images/edits",
            cast_to=ImagesResponse,
            body={name: value for name, value in body.items() if value is not None},
            files=[(field, (it.name, it.data, it.mime)) for it in uploads],
            options={"headers": {"Content-Type": "multipart/form-data"}},
        )

    def _answer(self, response: Any) -> EditAnswer:
        from .api_editor_parts.answers import EditAnswer, decoded_base64

        if isinstance(response, str):
            return EditAnswer(text=response[:2000])
        body = response.model_dump()
        first = next(iter(body.get("data") or []), None)
        first = first if isinstance(first, Mapping) else {}
        known: dict[str, Any] = {
            "usage": _usage(body.get("usage")),
            "details": {name: body[name] for name in _DETAILS if body.get(name) is not None},
            "model": str(body.get("model") or ""),
            "request_id": str(getattr(response, "_request_id", None) or ""),
        }
        if encoded := first.get("b64_json"):
            # Damaged text is an image that cannot be read, not an answer without one.
            return EditAnswer(decoded_base64(str(encoded)) or b"", **known)
        if url := first.get("url"):
            from .api_editor_parts.download import downloaded

            known["details"]["url"] = "yes"
            secure = self._address.url.startswith("https://")
            image = downloaded(str(url), secure=secure, timeout_s=self._effort.timeout_s)
            return EditAnswer(image, **known)
        return EditAnswer(text=_words(body), **known)


def _words(body: Mapping[str, Any]) -> str:
    """What a server says that answers with text, as chat completions or plainly."""
    for choice in body.get("choices") or ():
        if isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping):
            return str(choice["message"].get("content") or "")
    return str(body.get("text") or body.get("message") or "")


def _usage(said: Any) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        return {}
    details = said.get("input_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    found = {name: said.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")}
    found |= {name: inner.get(name) for name in ("text_tokens", "image_tokens")}
    return {name: count for name, count in found.items() if isinstance(count, int)}


def _no_answer(message: str, *, status: int = 0, timed_out: bool = False) -> Failure:
    from ..judging.faults import Failure

    return Failure(status, message, timed_out=timed_out)


def _failure(error: Any) -> Failure:
    from ..judging.faults import Failure
    from .api_editor_parts.line import REFUSED_SETTING

    body = error.body
    # The client has taken the outer {"error": ...} off already, where there was one.
    said = body if isinstance(body, Mapping) else {"message": body or error.response.text[:500]}
    status, code = error.status_code, str(said.get("code") or said.get("type") or "")
    param = str(said.get("param") or "")
    if status in (400, 422) and param == "model":
        code = "model_not_found"
    elif status in (400, 422) and param in _OF_EVERY_REQUEST:
        code = REFUSED_SETTING
    message = str(said.get("message") or said.get("detail") or "")
    return Failure(status, message, code=code, param=param, headers=dict(error.response.headers))
