"""Editors behind ``/v1/images/edits``: what goes out, what every kind of answer becomes."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import threading
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.types import Status

from .environments import ROOT
from .image_servers import (
    KEY,
    Answer,
    OpenAIServer,
    Request,
    Script,
    edited,
    negative,
    one_pixel,
    openai_error,
)
from .image_servers_asking import QUICK, Pictures, files_with

pytestmark = pytest.mark.host


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pictures:
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Pictures(tmp_path)


def editor_of(server: OpenAIServer, **options: Any) -> Any:
    from medbench_vlmeval.models.openai_images import OpenAIImagesEditor

    return OpenAIImagesEditor(**{"base_url": server.base_url, **QUICK, **options})


def rate_limited(**headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return openai_error(429, "rate_limit_exceeded", "Limit 5 per min", headers=named)


def blocked(code: str) -> Answer:
    kind = "image_generation_user_error"
    return openai_error(400, code, "Rejected by the safety system.", kind=kind)


def test_what_is_sent_is_the_released_file_the_instruction_and_what_was_chosen(
    pictures: Pictures,
) -> None:
    with OpenAIServer(Script()) as server:
        editor = editor_of(server, quality="low", input_fidelity="high", opening="Edit with care.")
        reply = pictures.ask(editor, 1)
    (request,) = server.requests
    assert reply.status is Status.ANSWER
    assert request.images == ((pictures.folder / "1.png").read_bytes(),)
    assert request.words == "Edit with care.\nRemove the clip in row 1."
    chosen = {name: it for name, it in request.fields.items() if name not in ("files", "prompt")}
    assert chosen == {
        "model": "gpt-image-1",
        "size": "auto",
        "quality": "low",
        "input_fidelity": "high",
    }
    ((field, head),) = request.fields["files"]
    assert field == "image"
    assert 'filename="image.png"' in head


@pytest.mark.parametrize(
    ("kind", "mime"), [("JPEG", "jpeg"), ("WEBP", "webp"), ("PNG", "png"), ("TIFF", None)]
)
def test_an_ordinary_file_goes_out_as_it_is_and_another_as_png(
    pictures: Pictures, kind: str, mime: str | None
) -> None:
    suffix = {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower())
    path = pictures.folder / f"released.{suffix}"
    pixels = np.random.default_rng(1).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, kind)
    with OpenAIServer(Script()) as server:
        message = [{"type": "image", "value": str(path)}, {"type": "text", "value": "Edit."}]
        editor_of(server).generate(message)
    (sent,) = server.requests[0].images
    ((_, head),) = server.requests[0].fields["files"]
    assert f"Content-Type: image/{mime or 'png'}" in head
    if mime is not None:
        assert sent == path.read_bytes()
    else:
        with Image.open(io.BytesIO(sent)) as image:
            assert image.format == "PNG"
            assert np.array_equal(np.asarray(image), pixels)


def test_demonstrations_go_first_in_their_order(pictures: Pictures) -> None:
    earlier = [Path(pictures.message(row)[0]["value"]) for row in (7, 8)]
    with OpenAIServer(Script()) as server:
        editor_of(server).generate(pictures.message(1, *earlier))
    (request,) = server.requests
    assert request.images == tuple(
        (pictures.folder / f"{row}.png").read_bytes() for row in (7, 8, 1)
    )
    assert [field for field, _ in request.fields["files"]] == ["image[]"] * 3


SORRY = "I'm sorry, but I can't help with editing medical images."
OUTCOMES = {
    "success": ([edited()], Status.ANSWER, 1, ""),
    "429-seconds": ([rate_limited(retry_after="1"), edited()], Status.ANSWER, 2, ""),
    "429-ms": ([rate_limited(retry_after_ms="30"), edited()], Status.ANSWER, 2, ""),
    "429-bare": ([rate_limited(), rate_limited(), edited()], Status.ANSWER, 3, ""),
    "429-storm": ([rate_limited()], Status.API_FAIL, 3, "HTTP 429"),
    "500-twice": ([Answer(status=500, text="oops")] * 2 + [edited()], Status.ANSWER, 3, ""),
    "500-always": ([Answer(status=500, text="oops")], Status.API_FAIL, 3, "HTTP 500"),
    "moderation": ([blocked("moderation_blocked")], Status.REFUSAL, 1, "safety system"),
    "policy": ([blocked("content_policy_violation")], Status.REFUSAL, 1, "safety system"),
    "text": ([Answer(text="Here is how I would do it.")], Status.MISSING, 1, "how I would do it"),
    "refusal": ([Answer(text=SORRY)], Status.REFUSAL, 1, "can't help"),
    "empty": ([Answer(json={"created": 1, "data": []})], Status.MISSING, 1, "without an image"),
    "damaged": ([edited(broken=True)], Status.MISSING, 1, "damaged"),
    "no-image": ([Answer(image=lambda request: b"nothing")], Status.MISSING, 1, "damaged"),
    "one-pixel": ([one_pixel()], Status.ANSWER, 1, ""),
    "reset": ([Answer(drop=True), edited()], Status.ANSWER, 2, ""),
    "bad-image": (
        [openai_error(400, "invalid_image_file", "Invalid image", param="image")],
        Status.API_FAIL, 1, "Invalid image",
    ),
    "not-json": ([Answer(json=None, text="")], Status.MISSING, 1, "without an image"),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_kind_of_answer_becomes_what_it_is(pictures: Pictures, name: str) -> None:
    answers, status, calls, note = OUTCOMES[name]
    with OpenAIServer(Script({1: answers})) as server:
        editor = editor_of(server, retries=2)
        assert pictures.ask(editor, 2).status is Status.ANSWER
        reply = pictures.ask(editor, 1)
        assert (reply.status, server.calls - 1) == (status, calls)
        assert note in reply.note
        assert pictures.ask(editor, 3).status is Status.ANSWER


def test_a_slow_answer_is_a_failed_call_also_when_it_trickles(pictures: Pictures) -> None:
    rows = {1: [edited(delay_s=5)], 2: [Answer(trickle=True)]}
    with OpenAIServer(Script(rows)) as server:
        editor = editor_of(server, retries=0, timeout_s=0.5)
        pictures.ask(editor, 3)
        began = time.monotonic()
        replies = [pictures.ask(editor, row) for row in (1, 2)]
        assert time.monotonic() - began < 3
    assert [it.status for it in replies] == [Status.API_FAIL] * 2
    assert all("in time" in it.note for it in replies)


def test_a_date_in_retry_after_is_waited_for(pictures: Pictures) -> None:
    date = datetime.now(timezone.utc) + timedelta(seconds=2)
    limited = rate_limited(retry_after=format_datetime(date, usegmt=True))
    with OpenAIServer(Script({1: [limited, edited()]})) as server:
        assert pictures.ask(editor_of(server), 1).status is Status.ANSWER
    first, second = server.requests
    assert 0.5 < second.at - first.at < 4


def test_after_a_rate_limit_every_thread_waits(pictures: Pictures) -> None:
    rows = {5: [rate_limited(retry_after="1"), edited()]}
    with OpenAIServer(Script(rows, default=[edited(delay_s=0.02)])) as server:
        editor = editor_of(server, max_concurrency=4)
        replies = pictures.ask_all(editor, range(1, 13))
    assert {it.status for it in replies} == {Status.ANSWER}
    times = sorted(it.at for it in server.requests)
    assert server.calls == 13
    assert max(after - before for before, after in pairwise(times)) > 0.8


def test_a_bounded_number_of_requests_is_under_way(pictures: Pictures) -> None:
    with OpenAIServer(Script(default=[edited(delay_s=0.05)])) as server:
        pictures.ask_all(editor_of(server, max_concurrency=3), range(1, 13))
    assert server.most_under_way == 3


PERMANENT = {
    "bad-key": (openai_error(401, "invalid_api_key", f"Incorrect key {KEY}"), "the key"),
    "forbidden": (openai_error(403, "", "Your organization must be verified"), "verified"),
    "unknown-model": (openai_error(404, "model_not_found", "no such model"), "no such model"),
    "model-value": (openai_error(400, "invalid_value", "Invalid value", param="model"), "model"),
    "quota": (openai_error(429, "insufficient_quota", "You exceeded it"), "add credit"),
    "billing": (openai_error(400, "billing_hard_limit_reached", "Limit"), "add credit"),
    "setting": (openai_error(400, "invalid_value", "Bad size", param="size"), "setting"),
    "long-pause": (rate_limited(retry_after="7200"), "longer pause"),
}


@pytest.mark.parametrize("name", PERMANENT)
def test_what_concerns_every_edit_is_met_once(
    pictures: Pictures, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, words = PERMANENT[name]
    caplog.set_level(logging.DEBUG)
    with OpenAIServer(Script(default=[answer])) as server:
        replies = pictures.ask_all(editor_of(server), range(1, 25))
    assert server.calls == 1
    assert {it.status for it in replies} == {Status.API_FAIL}
    ours = [it for it in caplog.records if it.name.startswith("medbench_vlmeval")]
    errors = [it for it in ours if it.levelno >= logging.WARNING]
    assert len(errors) == 1
    assert words in errors[0].getMessage()
    assert KEY not in caplog.text


def test_edits_that_are_kept_are_served_after_a_stop(pictures: Pictures) -> None:
    quota = openai_error(429, "insufficient_quota", "no credit")
    with OpenAIServer(Script({2: [quota]})) as server:
        editor = editor_of(server)
        kept = pictures.ask(editor, 1)
        assert pictures.ask(editor, 2).status is Status.API_FAIL
        assert pictures.ask(editor, 1) == kept
        assert server.calls == 2


def test_a_service_that_only_fails_is_left_alone(pictures: Pictures) -> None:
    with OpenAIServer(Script(default=[Answer(status=503, text="busy")])) as server:
        editor = editor_of(server, retries=0, max_concurrency=2)
        replies = pictures.ask_all(editor, range(1, 31), threads=2)
    assert 8 <= server.calls <= 9
    assert "in a row" in replies[-1].note


def test_nobody_at_the_address_is_met_once(pictures: Pictures) -> None:
    from medbench_vlmeval.models.openai_images import OpenAIImagesEditor

    editor = OpenAIImagesEditor(base_url="http://127.0.0.1:9/v1", retries=0)
    assert "cannot be reached" in pictures.ask(editor, 1).note
    began = time.monotonic()
    assert "cannot be reached" in pictures.ask(editor, 2).note
    assert time.monotonic() - began < 0.5


def test_without_a_key_nothing_is_asked_and_the_remedy_is_named(pictures: Pictures) -> None:
    from medbench_vlmeval.models.openai_images import OpenAIImagesEditor

    assert "set OPENAI_API_KEY" in pictures.ask(OpenAIImagesEditor(), 1).note


def test_a_server_of_ones_own_needs_no_key(pictures: Pictures) -> None:
    with OpenAIServer(Script(), key=None) as server:
        assert pictures.ask(editor_of(server, api_key=None), 1).status is Status.ANSWER


@pytest.mark.parametrize("suffix", ["", "/", "/images/edits", "/images/generations"])
@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_the_address_may_have_the_usual_endings(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch, variable: str, suffix: str
) -> None:
    from medbench_vlmeval.models.openai_images import OpenAIImagesEditor

    with OpenAIServer(Script()) as server:
        monkeypatch.setenv(variable, server.base_url + suffix)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert pictures.ask(OpenAIImagesEditor(), 1).status is Status.ANSWER


def test_a_second_run_asks_nothing_whatever_effort_it_makes(pictures: Pictures) -> None:
    with OpenAIServer(Script()) as server:
        first = pictures.ask(editor_of(server), 1)
        again = editor_of(server, max_cost=3, retries=0, max_concurrency=1, timeout_s=1)
        assert pictures.ask(again, 1) == first
        assert server.calls == 1
        pictures.ask(editor_of(server, reuse_edits=False), 1)
        assert server.calls == 2
        pictures.ask(editor_of(server, quality="high"), 1)
        assert server.calls == 3


def test_a_replica_that_fails_does_not_cost_the_one_before_it(pictures: Pictures) -> None:
    script = Script({1: [edited(), Answer(status=500, text="x"), edited()]})
    with OpenAIServer(script) as server:
        assert pictures.ask(editor_of(server, replicas=2, retries=0), 1).status is Status.API_FAIL
        reply = pictures.ask(editor_of(server, replicas=2, retries=0), 1)
        assert reply.status is Status.ANSWER
        assert reply.replicas[0].stored is not None
        assert server.calls == 3


def test_spending_stops_before_the_ceiling(pictures: Pictures) -> None:
    with OpenAIServer(Script(default=[edited(delay_s=0.02)])) as server:
        editor = editor_of(server, max_cost=1.0, price_per_image=0.3)
        replies = pictures.ask_all(editor, range(1, 10))
    assert server.calls == 3
    assert [it.status for it in replies].count(Status.ANSWER) == 3
    failed = next(it for it in replies if it.status is Status.API_FAIL)
    assert "0.9000 of 1.0000 US dollars" in failed.note


def test_cost_is_booked_by_the_tokens_that_were_counted(pictures: Pictures) -> None:
    with OpenAIServer(Script()) as server:
        editor = editor_of(server, max_cost=0.4)
        replies = [pictures.ask(editor, row) for row in range(1, 6)]
    # 50 x 5 + 350 x 10 + 1000 x 40 per million; the dearest outcome of the next has to fit as well
    assert pictures.records("gpt-image-1")[0]["cost"] == pytest.approx(0.04375)
    dearest = (1000 * 5 + 7400 * 10 + 6240 * 40) / 1e6
    affordable = int((0.4 - dearest) / 0.04375) + 1
    assert server.calls == affordable
    assert [it.status for it in replies].count(Status.ANSWER) == affordable


def test_an_answer_that_came_too_late_counts_as_charged(pictures: Pictures) -> None:
    with OpenAIServer(Script({1: [edited(delay_s=5)]})) as server:
        limits = {"max_cost": 0.5, "price_per_image": 0.3, "timeout_s": 0.3, "retries": 0}
        editor = editor_of(server, **limits)
        pictures.ask(editor, 1)
        assert "0.3000 of 0.5000" in pictures.ask(editor, 2).note


def test_a_number_of_images_is_a_ceiling_too(pictures: Pictures) -> None:
    with OpenAIServer(Script({1: [blocked("moderation_blocked")]})) as server:
        editor = editor_of(server, model="local-editor", max_images=2)
        replies = [pictures.ask(editor, row) for row in (1, 2, 3, 4, 5)]
    assert server.calls == 3
    assert "2 of 2 images" in replies[-1].note


def test_a_ceiling_without_a_price_and_a_misspelt_option_are_refused() -> None:
    from medbench_vlmeval.models.openai_images import OpenAIImagesEditor

    with pytest.raises(ValueError, match="max_images instead"):
        OpenAIImagesEditor(model="local-editor", max_cost=3)
    with pytest.raises(ValueError, match="max_cots"):
        OpenAIImagesEditor(max_cots=3)
    with pytest.raises(ValueError, match="use_roi_mask"):
        OpenAIImagesEditor(use_roi_mask=True)
    with pytest.raises(ValueError, match="max_concurrency"):
        OpenAIImagesEditor(batch_size=4)
    with pytest.raises(ValueError, match="retries"):
        OpenAIImagesEditor(retries=-1)


def test_a_key_is_neither_recorded_nor_logged_also_when_the_server_echoes_it(
    pictures: Pictures, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"I was called with Bearer {KEY}"
    rows = {
        1: [Answer(text=echo)],
        2: [Answer(status=500, text=echo)],
        3: [openai_error(400, "moderation_blocked", echo)],
    }
    with OpenAIServer(Script(rows)) as server:
        address = server.base_url + "/images/edits?token=hidden-password"
        editor = editor_of(server, base_url=address, retries=1)
        replies = [pictures.ask(editor, row) for row in (4, 1, 2, 3)]
        assert server.requests[0].path == "/v1/images/edits?token=hidden-password"
        pictures.ask(editor_of(server, api_key="sk-not-the-right-one"), 9)
    expected = [Status.ANSWER, Status.MISSING, Status.API_FAIL, Status.REFUSAL]
    assert [it.status for it in replies] == expected
    assert KEY not in repr(replies)
    assert KEY not in repr(vars(editor)["settings"])
    for secret in (KEY, "hidden-password", "sk-not-the-right-one"):
        assert secret not in caplog.text
        assert files_with(secret, pictures.store) == []
    assert files_with("[removed]", pictures.store)


def test_what_was_asked_and_answered_is_recorded(pictures: Pictures) -> None:
    rows = {2: [blocked("moderation_blocked")], 3: [Answer(status=500, text="x")]}
    with OpenAIServer(Script(rows)) as server:
        editor = editor_of(server, retries=0, quality="low")
        replies = [pictures.ask(editor, row) for row in (1, 2, 3)]
    made, refused, failed = pictures.records("gpt-image-1")
    assert made["sha256"] == replies[0].stored.sha256
    assert (made["request_id"], made["details"]["size"]) == ("req-1", "1024x1024")
    assert made["usage"]["output_tokens"] == 1000
    assert made["requested"]["quality"] == "low"
    assert made["images"][0]["converted"] == ""
    assert (refused["result"], refused["cost"], failed["result"]) == ("declined", None, "failed")
    settings = editor.store.description(replies[0].settings)
    assert (settings["model"], settings["model_id"]) == ("gpt-image-1", "gpt-image-1")


def test_an_image_may_come_by_its_address(pictures: Pictures) -> None:
    answers: dict[Any, list[Answer]] = {}
    with OpenAIServer(Script(answers)) as server:
        root = server.base_url.removesuffix("/v1")
        picture = pictures.folder / "1.png"
        pictures.message(1)
        server.files = {"/edit.png": picture.read_bytes(), "/moved": b"to /edit.png"}
        addresses = (f"{root}/edit.png", f"{root}/gone.png", f"{root}/moved", f"file://{picture}")
        server.script = Script(
            {row: [edited(by_url=it)] for row, it in enumerate(addresses, start=1)}
        )
        editor = editor_of(server, price_per_image=0.5)
        replies = [pictures.ask(editor, row) for row in (1, 2, 3, 4)]
        assert replies[0].stored is not None
        kept = editor.store.path(replies[0].stored)
        assert kept.read_bytes() == picture.read_bytes()
        assert [it.status for it in replies[1:]] == [Status.API_FAIL] * 3
        # Made and charged, and not asked for again in the same run.
        assert server.calls == 4
        assert editor._line.budget.spent == pytest.approx(2.0)


def test_an_image_by_its_address_is_not_too_large(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models.api_editor_parts import download

    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    with OpenAIServer(Script()) as server:
        root = server.base_url.removesuffix("/v1")
        server.files = {"/edit.png": bytes(2000)}
        server.script = Script(default=[edited(by_url=f"{root}/edit.png")])
        assert "more than 1000 bytes" in pictures.ask(editor_of(server), 1).note


def test_a_secure_server_does_not_send_us_to_an_open_address() -> None:
    from medbench_vlmeval.judging.faults import Failure
    from medbench_vlmeval.models.api_editor_parts.download import downloaded

    with pytest.raises(Failure) as raised:
        downloaded("http://127.0.0.1/1.png", secure=True, timeout_s=1)
    assert "https://" in raised.value.message


def test_the_first_request_goes_alone(pictures: Pictures) -> None:
    arrived = threading.Event()

    def script(request: Request) -> Answer:
        first = not arrived.is_set()
        arrived.set()
        return Answer(image=negative, delay_s=0.3 if first else 0.0)

    with OpenAIServer(script) as server:
        pictures.ask_all(editor_of(server), range(1, 9))
    times = sorted(it.at for it in server.requests)
    assert times[1] - times[0] >= 0.28


def test_the_page_names_every_option_and_its_configuration_can_be_built() -> None:
    from medbench_vlmeval.models import gemini_images, openai_images

    page = (ROOT / "docs" / "api-editors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    classes = {**vars(gemini_images), **vars(openai_images)}
    for options in json.loads(block)["model"].values():
        cls = classes[options.pop("class")]
        cls(**options)
        with pytest.raises(ValueError, match="no_option") as raised:
            cls(no_option=1)
        (listed,) = re.findall(r"\[.*?\]", str(raised.value))[:1]
        for name in {*ast.literal_eval(listed)} - {"name"}:
            assert f"`{name}`" in page, name
