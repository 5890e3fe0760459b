"""Which judge, where, and how hard to try."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from .host_options import DEFAULT_MODEL, chosen_by_host

DEFAULT_BASE_URL = "https://api.openai.com/v1"
KEYLESS = "no-key-needed"
"""Sent as key to servers that want none; the client insists on one."""

_SHORTEST_SECRET = 8
_CHAT_PATH = "/chat/completions"
_OWN_BODY_FIELDS = ("model", "messages", "stream", "n")

_HOSTED_FAMILY = re.compile(r"(?:.*/)?(?:gpt-(?!oss)|chatgpt-|o\d|gemini-|claude-)", re.IGNORECASE)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}|-\d{8}\b|-\d{3,4}(?:-preview)?$|@\d+")


_LEAST: dict[str, float] = {
    "nproc": 1,
    "timeout_s": 0.001,
    "retries": 0,
    "max_tokens": 1,
    "retry_max_tokens": 1,
    "max_cost": 0,
    "repeats": 1,
}


@dataclass(frozen=True)
class JudgeSettings:
    """How to reach the judge and what to ask it for.

    Raises:
        ValueError: a number outside its range, or a field in `extra_body` that is not the user's.
    """

    model: str = DEFAULT_MODEL
    base_url: str | None = field(default=None, repr=False)
    """Any OpenAI-compatible address, with or without ``/chat/completions``; `None`: OpenAI."""
    api_key: str | None = field(default=None, repr=False)
    nproc: int = 32
    """Questions under way at the same time."""
    timeout_s: float = 600.0
    retries: int = 6
    """Repetitions of one transmission after a passing failure."""
    max_tokens: int = 400
    """Tokens of a reply, as in the released MedEBench judge."""
    retry_max_tokens: int = 1600
    """Tokens when a reply was cut and is asked for again."""
    temperature: float | None = None
    """`None`: not sent, the endpoint's default applies."""
    seed: int | None = None
    max_cost: float | None = None
    """US dollars this judge may spend; it stops before the call that could exceed them."""
    cache_path: Path | None = None
    """SQLite file of replies; `None`: nothing outlives the run."""
    repeats: int = 1
    """Independent verdicts per call."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, passed on as they are."""
    price: tuple[float, float] | None = None
    """US dollars per million tokens (in, out) for a model the price table does not know."""
    weights_sha256: str | None = None
    """Hash of a local judge's weights: names what answered, and separates its cached replies."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"expected {name} of at least {least}, got {value!r}")
        if not self.model:
            raise ValueError("expected the name of a judge model, got an empty string")
        if self.base_url is not None and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("expected a base_url that begins with http:// or https://")
        reserved = sorted(set(self.extra_body) & set(_OWN_BODY_FIELDS))
        if reserved:
            raise ValueError(f"expected other fields in extra_body, got {reserved}; leave them out")

    @cached_property
    def url(self) -> str:
        """The base address requests go to, without ``/chat/completions``. May hold credentials."""
        parts = urlsplit(self.base_url or DEFAULT_BASE_URL)
        path = parts.path.rstrip("/")
        return urlunsplit((parts.scheme, parts.netloc, path.removesuffix(_CHAT_PATH), "", ""))

    @property
    def query(self) -> str:
        """The query of the address, e.g. an API version. May hold credentials."""
        return urlsplit(self.base_url or "").query

    @cached_property
    def endpoint(self) -> str:
        """The base address without user, password and query: safe to show and to store."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @cached_property
    def identity(self) -> str:
        """What, beside the request itself, decides whose replies a cached one may stand for.

        The host without its port: a local server comes back on another port with the same model.
        """
        return f"{urlsplit(self.url).hostname or ''} {self.weights_sha256 or ''}"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not reach a file, a log or an error message, longest first."""
        parts = urlsplit(self.base_url or "")
        queried = (value for _, value in parse_qsl(parts.query))
        found = {self.api_key, parts.password, parts.query, _userinfo(parts.netloc), *queried}
        found -= {None, ""}
        return tuple(sorted((str(secret) for secret in found), key=len, reverse=True))

    @property
    def parameters(self) -> dict[str, Any]:
        """The request's fields beside model and messages, before any endpoint has refused one."""
        chosen = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            **self.extra_body,
        }
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def is_bare_alias(self) -> bool:
        """Whether the provider may change the model behind this name, as behind ``gpt-4o``."""
        return bool(_HOSTED_FAMILY.match(self.model)) and not _DATED.search(self.model)

    def record(self) -> dict[str, Any]:
        """What a run's manifest should hold. Free of secrets."""
        return {
            "model_requested": self.model,
            "endpoint": self.endpoint,
            "parameters": self.parameters,
            "retry_max_tokens": self.retry_max_tokens,
            "repeats": self.repeats,
            "max_cost": self.max_cost,
            "weights_sha256": self.weights_sha256,
        }

    @classmethod
    def from_host(
        cls, judge_kwargs: Mapping[str, Any], environ: Mapping[str, str]
    ) -> JudgeSettings | None:
        """Settings from VLMEvalKit's judge options and the environment; `None`: no judge.

        Reads the host's ``model``, ``api_base``, ``key``, ``nproc``, ``retry``, ``timeout``,
        ``temperature`` and ``max_tokens``, our ``medbench_max_cost`` and ``medbench_judge_*``,
        and the variables ``OPENAI_API_KEY``, ``OPENAI_API_BASE``, ``OPENAI_BASE_URL``,
        ``LOCAL_LLM`` and ``MEDBENCH_JUDGE_CACHE``. Other host options are ignored. There is no
        judge when neither key nor address is known, or the model is ``exact_matching``.

        Raises:
            ValueError: an option that begins with ``medbench_`` and is not known, or a value that
                does not have the option's form.
        """
        chosen = chosen_by_host(judge_kwargs, environ)
        return None if chosen is None else cls(**chosen)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets; those too short to be one are left, as they occur in prose."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[removed]")
    return text


def _userinfo(netloc: str) -> str:
    return netloc.rpartition("@")[0]
