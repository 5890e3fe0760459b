"""How VLMEvalKit's judge options, ours beside them, and the environment become judge settings."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import sha256_file

logger = logging.getLogger(__name__)

DEFAULT_MODEL = "gpt-4o"

# Names VLMEvalKit accepts for --judge that no endpoint knows (dataset/utils/judge_util.py).
_HOST_SHORTHANDS = {
    "gpt-4-0409": "gpt-4-turbo-2024-04-09",
    "gpt-4-0125": "gpt-4-0125-preview",
    "gpt-4o-0806": "gpt-4o-2024-08-06",
    "gpt-4o-1120": "gpt-4o-2024-11-20",
    "chatgpt-1106": "gpt-3.5-turbo-1106",
    "chatgpt-0125": "gpt-3.5-turbo-0125",
}


def chosen_by_host(
    judge_kwargs: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any] | None:
    """Arguments for `JudgeSettings`; `None` when no judge is configured.

    Raises:
        ValueError: an unknown option of ours, or a value that does not have the option's form.
    """
    refuse_unknown_options(judge_kwargs)
    given = {name: value for name, value in judge_kwargs.items() if value is not None}
    if given.get("model") == "exact_matching":
        return None
    key = given.get("key") or environ.get("OPENAI_API_KEY") or None
    addresses = (given.get("api_base"), *(environ.get(name) for name in _ADDRESS_VARIABLES))
    base_url = next((address for address in addresses if address), None)
    if key is None and base_url is None:
        return None
    chosen = {
        target: _converted(name, convert, given[name])
        for name, (target, convert) in _OPTIONS.items()
        if name in given
    }
    chosen.setdefault("cache_path", _cache_from(environ))
    return {"model": _model(given, environ), "base_url": base_url, "api_key": key, **chosen}


def weights_sha256(path: Path) -> str:
    """Hash of a model file, or of all files of a folder and their relative names, in name order."""
    if path.is_file():
        return sha256_file(path)
    digest = hashlib.sha256()
    for file in sorted(item for item in path.rglob("*") if item.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()}\0{sha256_file(file)}\n".encode())
    return digest.hexdigest()


def _pair(value: Any) -> tuple[float, float]:
    first, second = value
    return float(first), float(second)


def _weights_hash(value: Any) -> str:
    """A hash as given, or the hash of the file or folder of that name."""
    path = Path(str(value)).expanduser()
    return weights_sha256(path) if path.exists() else str(value)


_ADDRESS_VARIABLES = ("OPENAI_API_BASE", "OPENAI_BASE_URL")

_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "nproc": ("nproc", int),
    "retry": ("retries", int),
    "timeout": ("timeout_s", float),
    "temperature": ("temperature", float),
    "max_tokens": ("max_tokens", int),
    "medbench_judge_retry_max_tokens": ("retry_max_tokens", int),
    "medbench_judge_seed": ("seed", int),
    "medbench_max_cost": ("max_cost", float),
    "medbench_judge_cache": ("cache_path", Path),
    "medbench_judge_repeats": ("repeats", int),
    "medbench_judge_extra_body": ("extra_body", dict),
    "medbench_judge_price": ("price", _pair),
    "medbench_judge_weights": ("weights_sha256", _weights_hash),
}


def refuse_unknown_options(judge_kwargs: Mapping[str, Any]) -> None:
    """Refuse ``medbench_*`` arguments that are no option of a judge: a misspelt one must not pass.

    Raises:
        ValueError: the message lists the options.
    """
    known = sorted(name for name in _OPTIONS if name.startswith("medbench_"))
    unknown = sorted(n for n in judge_kwargs if n.startswith("medbench_") and n not in _OPTIONS)
    if unknown:
        raise ValueError(f"expected judge options among {known}, got {unknown}; check the spelling")


def _converted(name: str, convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected a usable value for {name}, got {value!r} ({error})") from error


def _model(given: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    asked = str(given.get("model") or DEFAULT_MODEL)
    local = environ.get("LOCAL_LLM")
    if local and local != asked:
        logger.warning("LOCAL_LLM is set: the judge is %s, not %s", local, asked)
        return local
    return _HOST_SHORTHANDS.get(asked, asked)


def _cache_from(environ: Mapping[str, str]) -> Path | None:
    value = environ.get("MEDBENCH_JUDGE_CACHE")
    return Path(value).expanduser() if value else None
