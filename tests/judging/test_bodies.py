from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.judging import JudgeCall, Message
from medbench_vlmeval.judging import bodies as bodies_module
from medbench_vlmeval.judging.adaptation import Adaptation
from medbench_vlmeval.judging.bodies import (
    PreparedMessage,
    Preparer,
    body,
    call_id,
    merged,
    prompt_tokens,
    text_message,
)

from .asking import SCORE

PARAMETERS = {"max_tokens": 400, "temperature": 0.0}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def picture(path: Path, seed: int = 0, side: int = 32) -> Path:
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def prepared(preparer: Preparer, *parts: str | Path) -> tuple[PreparedMessage, ...]:
    call = JudgeCall("0", (Message("user", parts),), SCORE)
    return asyncio.run(preparer.prepared(call))


def test_the_body_is_the_request_as_the_api_describes_it(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    path = picture(tmp_path / "a.png")
    messages = (text_message("system", "Be strict."), *prepared(Preparer(threads), "Look:", path))
    url = "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
    assert json.loads(body("judge", messages, PARAMETERS)) == {
        "model": "judge",
        "messages": [
            {"role": "system", "content": "Be strict."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "image_url", "image_url": {"url": url}},
                ],
            },
        ],
        **PARAMETERS,
    }


def test_a_lone_surrogate_does_not_make_an_invalid_request(threads: ThreadPoolExecutor) -> None:
    sent = body("judge", prepared(Preparer(threads), "a\ud800b \u0000 ü"), {})
    text = json.loads(sent)["messages"][0]["content"]
    assert text == "a?b \u0000 ü"
    text.encode("utf-8")


def test_what_is_shown_holds_the_hash_and_not_the_image(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    path = picture(tmp_path / "a.png")
    (message,) = prepared(Preparer(threads), path)
    shown = json.dumps(message.shown)
    assert base64.b64encode(path.read_bytes()).decode()[:40] not in shown
    assert message.shown["content"][0]["bytes"] == path.stat().st_size
    assert len(message.shown["content"][0]["sha256"]) == 64


def test_the_call_id_follows_everything_that_is_sent_and_nothing_else(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    one, same, other = (picture(tmp_path / f"{n}.png", seed) for n, seed in enumerate((0, 0, 1)))
    preparer = Preparer(threads)

    def identify(path: Path, text: str = "Look:", model: str = "judge", limit: int = 400) -> str:
        shown = [message.shown for message in prepared(preparer, text, path)]
        return call_id(model, shown, {"max_tokens": limit})

    first = identify(one)
    assert identify(same) == first
    changed = {
        identify(other),
        identify(one, text="See:"),
        identify(one, model="x"),
        identify(one, limit=1),
    }
    assert len(changed - {first}) == 4


def test_an_image_is_read_once_and_again_only_when_it_changes(
    tmp_path: Path, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    original = bodies_module.encode_for_judge
    monkeypatch.setattr(
        bodies_module, "encode_for_judge", lambda path: (read.append(path), original(path))[1]
    )
    path = picture(tmp_path / "a.png")
    preparer = Preparer(threads)
    call = JudgeCall("0", (Message("user", (path, path)),), SCORE)

    async def at_once() -> None:
        await asyncio.gather(*[preparer.prepared(call) for _ in range(8)])

    asyncio.run(at_once())
    assert read == [path]
    picture(path, seed=1, side=40)
    prepared(preparer, path)
    assert read == [path, path]


@pytest.mark.parametrize("files", [20, 200])
def test_memory_for_images_is_bounded_whatever_their_number(
    tmp_path: Path, threads: ThreadPoolExecutor, files: int
) -> None:
    preparer = Preparer(threads, limit_bytes=50_000)
    for number in range(files):
        (message,) = prepared(preparer, picture(tmp_path / f"{number}.png", number))
        assert preparer.kept_bytes <= 50_000
    assert preparer.kept_bytes > 50_000 - 2 * message.parts[0].length


def test_joined_messages_keep_every_part_in_order() -> None:
    messages = [
        text_message("system", "s"),
        text_message("user", "1"),
        text_message("user", "2"),
        text_message("assistant", "a"),
        text_message("user", "3"),
    ]
    joined = merged(messages)
    assert [message.role for message in joined] == ["system", "user", "assistant", "user"]
    texts = [part.shown["text"] for message in joined for part in message.parts]
    assert texts == ["s", "1", "2", "a", "3"]


def test_tokens_are_estimated_from_text_and_image_size(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    messages = prepared(Preparer(threads), "abcd" * 25, picture(tmp_path / "a.png"))
    assert prompt_tokens("gpt-4o", messages) == 4 + 25 + 255


def test_refused_fields_are_renamed_then_dropped() -> None:
    adaptation = Adaptation()
    steps = []
    for refused in ("max_tokens", "temperature", "max_completion_tokens"):
        following = adaptation.after_refusal_of(refused, PARAMETERS)
        assert following is not None
        adaptation = following
        steps.append(adaptation.parameters(PARAMETERS))
    assert steps == [
        {"max_completion_tokens": 400, "temperature": 0.0},
        {"max_completion_tokens": 400},
        {},
    ]
    assert adaptation.after_refusal_of("max_tokens", PARAMETERS) is None
    assert adaptation.record()["dropped"] == ["max_completion_tokens", "temperature"]


def test_messages_are_joined_once() -> None:
    joined = Adaptation().after_refusal_of("messages", PARAMETERS)
    assert joined is not None
    messages = [text_message("user", "1"), text_message("user", "2")]
    sent = json.loads(joined.body("m", messages, {}))
    assert len(sent["messages"]) == 1
    assert joined.after_refusal_of("messages", PARAMETERS) is None
