"""Editors behind ``generateContent``: what goes out, what every kind of answer becomes."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.types import Status

from .image_servers import (
    KEY,
    Answer,
    GeminiServer,
    Request,
    Script,
    edited,
    gemini_error,
    negative,
    one_pixel,
)
from .image_servers_asking import QUICK, Pictures, files_with

pytestmark = pytest.mark.host


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pictures:
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Pictures(tmp_path)


def editor_of(server: GeminiServer, **options: Any) -> Any:
    from medbench_vlmeval.models.gemini_images import GeminiImagesEditor

    return GeminiImagesEditor(**{"base_url": server.base_url, **QUICK, **options})


def entry(name: str, **options: Any) -> Any:
    from vlmeval.config import supported_VLM

    return supported_VLM[name](**options)


def exhausted(*details: dict[str, Any], message: str = "Quota exceeded") -> Answer:
    return gemini_error(429, "RESOURCE_EXHAUSTED", message, details)


def retry_info(delay: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def violation(quota: str) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": quota}]}


def blocked(reason: str) -> Answer:
    feedback = {"blockReason": reason}
    return Answer(json={"promptFeedback": feedback, "modelVersion": "gemini", "responseId": "r"})


def test_the_published_call_is_text_then_image_and_no_temperature(pictures: Pictures) -> None:
    with GeminiServer(Script()) as server:
        editor = entry("gemini-2.0-flash-exp-image", base_url=server.base_url, **QUICK)
        reply = pictures.ask(editor, 1)
    (request,) = server.requests
    assert reply.status is Status.ANSWER
    assert request.model == "gemini-2.0-flash-exp"
    (content,) = request.fields["contents"]
    assert [next(iter(part)) for part in content["parts"]] == ["text", "inlineData"]
    assert request.words.splitlines()[1:] == ["Remove the clip in row 1."]
    assert request.images == ((pictures.folder / "1.png").read_bytes(),)
    assert set(request.fields) == {"contents", "generationConfig"}
    assert request.fields["generationConfig"] == {"responseModalities": ["TEXT", "IMAGE"]}


def test_demonstrations_go_first_then_the_image_to_edit_then_the_text(pictures: Pictures) -> None:
    earlier = [Path(pictures.message(row)[0]["value"]) for row in (7, 8)]
    with GeminiServer(Script()) as server:
        editor_of(server, temperature=0.0).generate(pictures.message(1, *earlier))
    (request,) = server.requests
    kinds = [next(iter(part)) for part in request.fields["contents"][0]["parts"]]
    assert kinds == ["inlineData"] * 3 + ["text"]
    assert request.images == tuple(
        (pictures.folder / f"{row}.png").read_bytes() for row in (7, 8, 1)
    )
    assert request.fields["generationConfig"]["temperature"] == 0.0


def test_a_jpeg_goes_out_as_released_and_a_turned_one_as_it_is_seen(pictures: Pictures) -> None:
    pixels = np.full((12, 16, 3), 90, dtype=np.uint8)
    plain, turned = pictures.folder / "plain.jpg", pictures.folder / "turned.jpg"
    Image.fromarray(pixels).save(plain)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(turned, exif=exif)
    with GeminiServer(Script()) as server:
        for path in (plain, turned):
            message = [{"type": "image", "value": str(path)}, {"type": "text", "value": "Edit."}]
            editor_of(server).generate(message)
    first, second = server.requests
    assert first.images[0] == plain.read_bytes()
    with Image.open(io.BytesIO(second.images[0])) as image:
        assert (image.format, image.size) == ("PNG", (12, 16))


OUTCOMES = {
    "image-and-text": ([edited(words="Here you are.")], Status.ANSWER, 1, ""),
    "429-retry-info": ([exhausted(retry_info("0.05s")), edited()], Status.ANSWER, 2, ""),
    "429-per-minute": (
        [exhausted(violation("GenerateRequestsPerMinutePerProject")), edited()],
        Status.ANSWER, 2, "",
    ),
    "429-storm": ([exhausted()], Status.API_FAIL, 3, "RESOURCE_EXHAUSTED"),
    "500-twice": ([gemini_error(500, "INTERNAL", "x")] * 2 + [edited()], Status.ANSWER, 3, ""),
    "503-always": ([gemini_error(503, "UNAVAILABLE", "busy")], Status.API_FAIL, 3, "HTTP 503"),
    "blocked-safety": ([blocked("SAFETY")], Status.REFUSAL, 1, "SAFETY"),
    "blocked-prohibited": ([blocked("PROHIBITED_CONTENT")], Status.REFUSAL, 1, "PROHIBITED"),
    "image-safety": ([Answer(finish="IMAGE_SAFETY")], Status.REFUSAL, 1, "IMAGE_SAFETY"),
    "safety": ([Answer(finish="SAFETY")], Status.REFUSAL, 1, "SAFETY"),
    "recitation": ([Answer(finish="RECITATION")], Status.REFUSAL, 1, "RECITATION"),
    "no-image": ([Answer(finish="NO_IMAGE")], Status.MISSING, 1, "NO_IMAGE"),
    "text": ([Answer(words="The clip is at the left.")], Status.MISSING, 1, "at the left"),
    "refusal": ([Answer(words="I cannot edit medical images.")], Status.REFUSAL, 1, "cannot edit"),
    "damaged": ([edited(broken=True)], Status.MISSING, 1, "damaged"),
    "no-picture": ([Answer(image=lambda request: b"nothing")], Status.MISSING, 1, "damaged"),
    "one-pixel": ([one_pixel()], Status.ANSWER, 1, ""),
    "reset": ([Answer(drop=True), edited()], Status.ANSWER, 2, ""),
    "not-json": ([Answer(text="<html>"), edited()], Status.ANSWER, 2, ""),
    "bad-request": (
        [gemini_error(400, "INVALID_ARGUMENT", "Unable to process input image")],
        Status.API_FAIL, 1, "Unable to process",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_kind_of_answer_becomes_what_it_is(pictures: Pictures, name: str) -> None:
    answers, status, calls, note = OUTCOMES[name]
    with GeminiServer(Script({1: answers})) as server:
        editor = editor_of(server, retries=2)
        assert pictures.ask(editor, 2).status is Status.ANSWER
        reply = pictures.ask(editor, 1)
        assert (reply.status, server.calls - 1) == (status, calls)
        assert note in reply.note
        assert pictures.ask(editor, 3).status is Status.ANSWER


def test_the_published_entry_asks_three_times_for_an_image(pictures: Pictures) -> None:
    rows = {1: [Answer(words="Well,")] * 2 + [edited()], 2: [Answer(words="No picture today.")]}
    with GeminiServer(Script(rows)) as server:
        editor = entry("gemini-2.0-flash-exp-image", base_url=server.base_url, **QUICK)
        assert pictures.ask(editor, 1).status is Status.ANSWER
        assert server.calls == 3
        reply = pictures.ask(editor, 2)
    assert server.calls == 6
    assert (reply.status, "No picture today" in reply.note) == (Status.MISSING, True)
    records = pictures.records("gemini-2.0-flash-exp-image")
    assert [it["attempt"] for it in records] == [1, 2, 3, 1, 2, 3]


def test_a_draft_among_the_thoughts_is_not_the_edit(pictures: Pictures) -> None:
    def parts_with_thought(request: Request) -> Answer:
        body = server.body(edited(), request)
        draft = server.body(one_pixel(), request)["candidates"][0]["content"]["parts"][0]
        content = body["candidates"][0]["content"]
        content["parts"] = [{**draft, "thought": True}, *content["parts"]]
        return Answer(json=body)

    with GeminiServer(parts_with_thought) as server:
        editor = editor_of(server)
        reply = pictures.ask(editor, 1)
    assert reply.stored is not None
    kept = editor.store.path(reply.stored).read_bytes()
    assert kept == negative(server.requests[0])


def test_a_slow_answer_is_a_failed_call_also_when_it_trickles(pictures: Pictures) -> None:
    rows = {1: [edited(delay_s=5)], 2: [Answer(trickle=True)]}
    with GeminiServer(Script(rows)) as server:
        editor = editor_of(server, retries=0, timeout_s=0.5)
        replies = [pictures.ask(editor, row) for row in (3, 1, 2)]
    assert [it.status for it in replies[1:]] == [Status.API_FAIL] * 2
    assert all("in time" in it.note for it in replies[1:])


INVALID_KEY = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
PERMANENT = {
    "bad-key": (gemini_error(400, "INVALID_ARGUMENT", f"Key {KEY}", INVALID_KEY), "the key"),
    "forbidden": (gemini_error(403, "PERMISSION_DENIED", "not yours"), "not yours"),
    "unknown-model": (gemini_error(404, "NOT_FOUND", "models/x is not found"), "models/x"),
    "per-day": (exhausted(violation("GenerateRequestsPerDayPerProject-FreeTier")), "add credit"),
    "none-at-all": (exhausted(message="for metric x, limit: 0, model: y"), "add credit"),
    "billing": (gemini_error(400, "FAILED_PRECONDITION", "Enable billing"), "add credit"),
    "place": (gemini_error(400, "FAILED_PRECONDITION", "User location"), "User location"),
    "long-pause": (exhausted(retry_info("37000s")), "longer pause"),
}


@pytest.mark.parametrize("name", PERMANENT)
def test_what_concerns_every_edit_is_met_once(
    pictures: Pictures, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, words = PERMANENT[name]
    caplog.set_level(logging.DEBUG)
    with GeminiServer(Script(default=[answer])) as server:
        replies = pictures.ask_all(editor_of(server), range(1, 25))
    assert server.calls == 1
    assert {it.status for it in replies} == {Status.API_FAIL}
    ours = [it for it in caplog.records if it.name.startswith("medbench_vlmeval")]
    errors = [it for it in ours if it.levelno >= logging.WARNING]
    assert len(errors) == 1
    assert words in errors[0].getMessage()
    assert KEY not in caplog.text


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
@pytest.mark.parametrize("suffix", ["", "/", "/v1beta", "/v1beta/models"])
def test_key_and_address_come_from_the_environment(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch, variable: str, suffix: str
) -> None:
    with GeminiServer(Script()) as server:
        monkeypatch.setenv(variable, KEY)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url + suffix)
        assert pictures.ask(entry("gemini-2.5-flash-image"), 1).status is Status.ANSWER
    assert server.requests[0].model == "gemini-2.5-flash-image"


def test_without_a_key_nothing_is_asked_and_the_remedy_is_named(pictures: Pictures) -> None:
    reply = pictures.ask(entry("gemini-2.5-flash-image"), 1)
    assert "set GEMINI_API_KEY or GOOGLE_API_KEY" in reply.note


def test_without_the_client_the_line_for_pip_is_named(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    import google

    monkeypatch.setitem(__import__("sys").modules, "google.genai", None)
    monkeypatch.delattr(google, "genai", raising=False)
    with GeminiServer(Script()) as server:
        reply = pictures.ask(editor_of(server), 1)
    assert 'pip install "medbench-vlmeval[gemini]"' in reply.note
    assert server.calls == 0


def test_a_key_is_neither_recorded_nor_logged_also_when_the_server_echoes_it(
    pictures: Pictures, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"I was called with {KEY}"
    rows = {1: [Answer(words=echo)], 2: [gemini_error(500, "INTERNAL", echo)]}
    with GeminiServer(Script(rows)) as server:
        editor = editor_of(server, retries=1)
        replies = [pictures.ask(editor, row) for row in (4, 1, 2)]
        pictures.ask(editor_of(server, api_key="not-the-right-key-at-all"), 9)
    assert [it.status for it in replies] == [Status.ANSWER, Status.MISSING, Status.API_FAIL]
    assert KEY not in repr(replies) + caplog.text
    assert "not-the-right-key-at-all" not in caplog.text
    assert files_with(KEY, pictures.store) == []
    assert files_with("[removed]", pictures.store)


def test_what_was_asked_and_answered_is_recorded(pictures: Pictures) -> None:
    rows = {2: [Answer(finish="IMAGE_SAFETY")]}
    with GeminiServer(Script(rows)) as server:
        editor = editor_of(server)
        replies = [pictures.ask(editor, row) for row in (1, 2)]
    made, refused = pictures.records("gemini-2.5-flash-image")
    assert made["sha256"] == replies[0].stored.sha256
    assert made["model_returned"] == "gemini-2.5-flash-image-001"
    assert (made["request_id"], made["finish_reason"]) == ("response-1", "STOP")
    assert made["usage"] == {"input_tokens": 300, "output_tokens": 1290, "total_tokens": 1590}
    assert made["cost"] == pytest.approx((300 * 0.3 + 1290 * 30) / 1e6)
    assert (refused["result"], refused["finish_reason"]) == ("declined", "IMAGE_SAFETY")


def test_a_second_run_asks_nothing(pictures: Pictures) -> None:
    with GeminiServer(Script()) as server:
        first = pictures.ask(editor_of(server), 1)
        assert pictures.ask(editor_of(server, max_cost=5), 1) == first
        assert server.calls == 1
