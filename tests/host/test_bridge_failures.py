"""Workers that die, hang, lie or cannot be started: counted failures, and never a number."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.types import Status

from .fake_checkouts import write_raw_worker
from .test_bridge import Bridged, _own_folders, bridged, is_running, picture, wait_until

__all__ = ["_own_folders", "bridged", "picture"]
pytestmark = pytest.mark.host

FAILED = "Failed to obtain answer via API."


def request(instruction: str, replica: int = 0) -> Any:
    from medbench_vlmeval.models.base import EditRequest

    image = Image.fromarray(np.full((8, 8, 3), 200, dtype=np.uint8))
    return EditRequest(
        image=image,
        instruction=instruction,
        seed=1,
        image_path=Path("x.png"),
        image_bytes=b"",
        replica=replica,
    )


def outcomes(editor: Any, *instructions: str) -> list[str]:
    """``image``, or the status of each result of one batch."""
    results = editor.edit_requests([request(instruction) for instruction in instructions])
    return ["image" if isinstance(it, bytes) else str(it.status) for it in results]


def raw(bridged: Bridged, body: str, **arguments: Any) -> Any:
    worker = write_raw_worker(bridged.folder / "raw", body)
    return bridged.editor(worker=str(worker), name="Raw", **{"start_timeout_s": 10, **arguments})


def n_starts(bridged: Bridged) -> int:
    path = bridged.folder / "raw" / "starts"
    return len(path.read_text().splitlines())


def test_a_batch_is_given_to_the_worker_as_one(bridged: Bridged) -> None:
    editor = bridged.editor(settings={"batching": True})
    assert outcomes(editor, "a", "refuse", "none", "raise", "b") == [
        "image",
        str(Status.REFUSAL),
        str(Status.MISSING),
        str(Status.API_FAIL),
        "image",
    ]
    assert bridged.notes("batches") == ["5"]
    assert outcomes(editor, "alone") == ["image"]
    assert bridged.notes("batches") == ["5"]


def test_answers_may_come_in_any_order(bridged: Bridged) -> None:
    editor = raw(
        bridged,
        """
        say(protocol=1, worker="backwards")
        waiting = []
        for request in requests():
            waiting.append(request)
            if request["following"] == 0:
                for one in reversed(waiting):
                    copy(one)
                    if one["instruction"] == "none":
                        say(id=one["id"], status="no_image", reason="nothing")
                    else:
                        say(id=one["id"], status="ok")
                waiting = []
        """,
    )
    assert outcomes(editor, "a", "none", "b") == ["image", str(Status.MISSING), "image"]


def test_a_worker_that_dies_half_way_loses_only_what_is_open(
    bridged: Bridged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    editor = bridged.editor()
    results = editor.edit_requests([request(it) for it in ("a", "b", "die", "c")])
    assert [isinstance(it, bytes) for it in results] == [True, True, False, False]
    for result in results[2:]:
        assert "killed by signal 9" in result.reason
        assert "out of memory, token ***" in result.reason
        assert "bridge_Obedient.log" in result.reason
    assert outcomes(editor, "c") == ["image"]
    assert len(bridged.notes("starts")) == 2


def test_a_death_is_a_failed_call_for_the_host(bridged: Bridged) -> None:
    editor = bridged.editor()
    line = bridged.ask(editor, "die")
    assert line.startswith(FAILED)
    assert "killed by signal 9" in line
    assert bridged.ask(editor, "a").startswith('{"edited_image"')


def test_a_replica_that_failed_is_asked_again_and_the_others_are_kept(bridged: Bridged) -> None:
    editor = raw(
        bridged,
        """
        say(protocol=1, worker="third")
        for number, request in enumerate(requests()):
            copy(request)
            say(id=request["id"], status="error" if number == 2 else "ok", reason="once")
        """,
        replicas=3,
    )
    assert "once" in bridged.ask(editor, "a")
    line = bridged.ask(editor, "a")
    assert line.startswith('{"edited_image"')
    assert "null" not in line
    assert editor.link._numbers.__next__() == 5


def test_a_hanging_worker_is_killed_with_its_children(bridged: Bridged) -> None:
    editor = bridged.editor(edit_timeout_s=1.5)
    bridged.ask(editor, "a")
    begun = time.monotonic()
    line = bridged.ask(editor, "hang")
    assert time.monotonic() - begun < 12
    assert line.startswith(FAILED)
    assert "did not answer in time" in line
    processes = [int(it) for it in bridged.notes("starts") + bridged.notes("children")]
    assert len(processes) == 2
    assert wait_until(lambda: not any(map(is_running, processes)))
    assert bridged.ask(editor, "b").startswith('{"edited_image"')


def test_a_worker_that_reads_nothing_is_no_trap(bridged: Bridged) -> None:
    editor = raw(
        bridged,
        """
        import time
        say(protocol=1, worker="deaf")
        time.sleep(600)
        """,
        edit_timeout_s=1,
    )
    (result,) = editor.edit_requests([request("x" * 300_000)])
    assert "does not read its requests" in result.reason


def test_a_worker_that_never_says_hello_is_too_late(bridged: Bridged) -> None:
    editor = raw(bridged, "import time; time.sleep(600)", start_timeout_s=1)
    assert "did not say hello in time" in bridged.ask(editor)


def test_an_answer_before_the_hello_is_refused(bridged: Bridged) -> None:
    editor = raw(bridged, 'say(id=1, status="ok")')
    assert "expected a hello from the worker first" in bridged.ask(editor)


def test_another_protocol_is_told_at_once_and_not_tried_again(bridged: Bridged) -> None:
    editor = raw(bridged, 'say(protocol=2, worker="future")')
    for _ in range(3):
        line = bridged.ask(editor)
        assert line.startswith(FAILED)
        assert "expected a worker of protocol 1, got 2" in line
    assert n_starts(bridged) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('say(id=99, status="ok")', "answered request 99, which is not open"),
        ('say(id="1", status="ok")', "answered request 1, which is not open"),
        ('say(id=request["id"], status="ok")', "answered ok but wrote no image"),
        (
            'open(request["output"], "w").write("text"); say(id=request["id"], status="ok")',
            "a file that is no image",
        ),
        (
            'os.symlink("{picture}", request["output"]); say(id=request["id"], status="ok")',
            "a link out of its folder",
        ),
        ('say(id=request["id"], status="perhaps")', "got 'perhaps'"),
        ('say(id=request["id"], status="error")', "no reason given"),
        ("sys.exit(3)", "ended with exit status 3"),
    ],
    ids=["unknown id", "other type", "no file", "no image", "link", "status", "error", "exit"],
)
def test_a_bad_answer_is_a_failed_call(bridged: Bridged, answer: str, words: str) -> None:
    body = answer.replace("{picture}", str(bridged.picture))
    source = f'say(protocol=1, worker="bad")\nfor request in requests():\n    {body}\n'
    line = bridged.ask(raw(bridged, source))
    assert line.startswith(FAILED)
    assert words in line


def test_an_id_answered_twice_counts_for_nothing(bridged: Bridged) -> None:
    editor = raw(
        bridged,
        """
        say(protocol=1, worker="stammering")
        for request in requests():
            copy(request)
            for _ in range(2 if request["instruction"] == "twice" else 1):
                say(id=request["id"], status="ok")
        """,
    )
    results = editor.edit_requests([request(it) for it in ("a", "twice", "b")])
    assert [isinstance(it, bytes) for it in results] == [True, False, False]
    assert all("answered request 2 twice" in it.reason for it in results[1:])


def test_after_so_many_starts_without_an_answer_every_edit_fails_at_once(bridged: Bridged) -> None:
    body = 'sys.stderr.write("no module named model\\n"); sys.exit(1)'
    editor = raw(bridged, body, max_restarts=2)
    lines = [bridged.ask(editor, f"edit {number}") for number in range(6)]
    assert n_starts(bridged) == 3
    assert all(line.startswith(FAILED) for line in lines)
    assert all("no module named model" in line for line in lines)
    assert all("given up after 3 starts" in line for line in lines[3:])


def test_answers_in_between_forgive_a_death(bridged: Bridged) -> None:
    editor = bridged.editor(max_restarts=0, reuse_edits=False)
    bridged.ask(editor, "a")
    bridged.ask(editor, "die")
    assert "given up after 1 starts" in bridged.ask(editor, "b")
    patient = bridged.editor(max_restarts=1)
    for number in range(3):
        assert bridged.ask(patient, f"edit {number}").startswith('{"edited_image"')
        assert "killed by signal 9" in bridged.ask(patient, "die")


def test_after_a_death_the_next_edit_goes_alone(bridged: Bridged) -> None:
    editor = bridged.editor(batch_size=4)
    seen: list[int] = []
    ahead = [{"type": "image", "value": str(bridged.picture)}]
    messages = [[*ahead, {"type": "text", "value": text}] for text in ("a", "die", "b", "c", "d")]

    class Following:
        name = "MedEBench_test"

        def after(self, message: Any) -> Any:
            return iter(messages[messages.index(message) + 1 :])

    class Noting(type(editor)):  # type: ignore[misc]
        def edit_requests(self, requests: Any) -> Any:
            seen.append(len(requests))
            return super().edit_requests(requests)

    editor.__class__ = Noting
    editor._upcoming = Following()
    lines = [editor.generate(message, "MedEBench_test") for message in messages]
    assert [line.startswith('{"edited_image"') for line in lines] == [True, False, True, True, True]
    assert seen == [4, 1, 1, 2]
