from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.judging import JudgeSettings
from medbench_vlmeval.judging.settings import redacted

KEY = "sk-canary-0123456789"
HOST_DEFAULTS = {"nproc": 32, "verbose": False, "retry": 6, "timeout": 600}


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (None, "https://api.openai.com/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("https://host/chat/completions/", "https://host"),
        ("https://host/x/chat/completions?api-version=1", "https://host/x"),
    ],
)
def test_an_address_may_end_in_the_path_of_chat_completions(given: str | None, url: str) -> None:
    assert JudgeSettings(base_url=given).url == url


def test_user_password_and_query_are_not_shown() -> None:
    settings = JudgeSettings(base_url="https://me:hunter22@host:9/v1?key=abcdefgh", api_key=KEY)
    assert settings.endpoint == "https://host:9/v1"
    shown = repr(settings) + json.dumps(settings.record())
    for secret in (KEY, "hunter22", "abcdefgh"):
        assert secret not in shown
        assert secret not in redacted(f"said {secret} again", settings.secrets)


def test_a_short_word_that_serves_as_key_is_no_secret() -> None:
    assert redacted("a none value", JudgeSettings(api_key="none").secrets) == "a none value"


@pytest.mark.parametrize(
    "wrong",
    [
        {"nproc": 0},
        {"retries": -1},
        {"repeats": 0},
        {"max_tokens": 0},
        {"timeout_s": 0},
        {"max_cost": -1},
        {"model": ""},
        {"base_url": "127.0.0.1:8000/v1"},
        {"extra_body": {"messages": []}},
        {"extra_body": {"stream": True}},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        JudgeSettings(**wrong)


@pytest.mark.parametrize(
    ("model", "is_alias"),
    [
        ("gpt-4o", True),
        ("openai/gpt-4o", True),
        ("o3", True),
        ("gemini-2.5-pro", True),
        ("gpt-4o-2024-08-06", False),
        ("gpt-4-0613", False),
        ("gemini-2.0-flash-001", False),
        ("claude-sonnet-4-20250514", False),
        ("gpt-oss-20b", False),
        ("Qwen/Qwen2.5-VL-7B-Instruct", False),
        ("molmo1-7b", False),
    ],
)
def test_an_alias_is_told_from_a_dated_id(model: str, is_alias: bool) -> None:
    assert JudgeSettings(model=model).is_bare_alias is is_alias


def test_the_hosts_options_and_the_environment_make_settings() -> None:
    given = {**HOST_DEFAULTS, "model": "gpt-4o-1120", "nproc": 4, "retry": 2, "timeout": 30}
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": "http://localhost:1/v1/chat/completions"}
    settings = JudgeSettings.from_host(given, environ)
    assert settings is not None
    assert settings.model == "gpt-4o-2024-11-20"
    assert (settings.nproc, settings.retries, settings.timeout_s) == (4, 2, 30.0)
    assert (settings.url, settings.api_key) == ("http://localhost:1/v1", KEY)


def test_options_on_the_command_line_go_before_the_environment() -> None:
    environ = {"OPENAI_API_KEY": "from-environment", "OPENAI_API_BASE": "http://environment/v1"}
    given = {"key": KEY, "api_base": "http://option/v1/chat/completions"}
    settings = JudgeSettings.from_host(given, environ)
    assert settings is not None
    assert (settings.url, settings.api_key) == ("http://option/v1", KEY)


def test_a_local_server_needs_no_key() -> None:
    settings = JudgeSettings.from_host({"api_base": "http://127.0.0.1:8000/v1"}, {})
    assert settings is not None
    assert settings.api_key is None


@pytest.mark.parametrize(
    ("given", "environ"),
    [
        (HOST_DEFAULTS, {}),
        ({"model": "gpt-4o"}, {"OPENAI_API_KEY": ""}),
        ({"model": "gpt-4o", "key": None, "api_base": None}, {}),
        ({"model": "exact_matching"}, {"OPENAI_API_KEY": KEY}),
    ],
)
def test_without_key_and_address_there_is_no_judge(
    given: dict[str, Any], environ: dict[str, str]
) -> None:
    assert JudgeSettings.from_host(given, environ) is None


def test_our_own_options_are_read_and_converted(tmp_path: Path) -> None:
    given = {
        "key": KEY,
        "temperature": 0,
        "medbench_max_cost": "2.5",
        "medbench_judge_repeats": 3,
        "medbench_judge_cache": str(tmp_path / "cache.sqlite"),
        "medbench_judge_price": [1, 2],
        "medbench_judge_extra_body": {"top_p": 0.5},
    }
    settings = JudgeSettings.from_host(given, {})
    assert settings is not None
    assert (settings.max_cost, settings.repeats, settings.price) == (2.5, 3, (1.0, 2.0))
    assert settings.cache_path == tmp_path / "cache.sqlite"
    assert settings.parameters == {"max_tokens": 400, "temperature": 0.0, "top_p": 0.5}


def test_an_unknown_option_of_ours_is_an_error_and_one_of_the_hosts_is_not() -> None:
    assert JudgeSettings.from_host({"key": KEY, "n_rounds": 3, "verbose": True}, {}) is not None
    with pytest.raises(ValueError, match="medbench_max_costs"):
        JudgeSettings.from_host({"key": KEY, "medbench_max_costs": 1}, {})
    with pytest.raises(ValueError, match="medbench_judge_price"):
        JudgeSettings.from_host({"key": KEY, "medbench_judge_price": 1}, {})


def test_local_llm_decides_the_model_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    environ = {"OPENAI_API_BASE": "http://localhost:1/v1", "LOCAL_LLM": "Qwen2.5-VL"}
    with caplog.at_level(logging.WARNING):
        settings = JudgeSettings.from_host({"model": "gpt-4o"}, environ)
    assert settings is not None
    assert settings.model == "Qwen2.5-VL"
    assert "LOCAL_LLM" in caplog.text


def test_weights_are_named_by_their_hash(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"weights")
    of_file = {"medbench_judge_weights": str(tmp_path / "a.safetensors"), "key": KEY}
    of_folder = {"medbench_judge_weights": str(tmp_path), "key": KEY}
    one, two = JudgeSettings.from_host(of_file, {}), JudgeSettings.from_host(of_folder, {})
    assert one is not None
    assert two is not None
    assert one.weights_sha256 == sha256_file(tmp_path / "a.safetensors")
    assert len(two.weights_sha256 or "") == 64
    assert one.identity != two.identity
