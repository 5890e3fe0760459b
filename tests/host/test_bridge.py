"""The bridge to another Python: what it hands over, what comes back, and what it records."""

from __future__ import annotations

import ast
import gc
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.editing import read_edit_reply
from medbench_vlmeval.types import Status

from .fake_checkouts import write_worker

pytestmark = pytest.mark.host


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.delenv("MEDBENCH_VLMEVAL_STORE", raising=False)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "1.png"
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


class Bridged:
    """Editors with the obedient worker, and what it has noted."""

    def __init__(self, folder: Path, picture: Path) -> None:
        self.folder, self.picture = folder, picture
        self.worker = write_worker(folder / "checkout")
        self.editors: list[Any] = []

    def editor(self, *, settings: dict[str, Any] | None = None, **arguments: Any) -> Any:
        from medbench_vlmeval.models.bridge import BridgedEditor

        given = {"python": sys.executable, "worker": str(self.worker), "name": "Obedient"}
        made = BridgedEditor(
            **{**given, **arguments}, settings={"notes": str(self.folder), **(settings or {})}
        )
        self.editors.append(made)
        return made

    def ask(self, editor: Any, instruction: str = "invert") -> str:
        message = [{"type": "image", "value": str(self.picture)}]
        return editor.generate([*message, {"type": "text", "value": instruction}], "MedEBench_test")

    def notes(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def environ(self) -> dict[str, str]:
        return ast.literal_eval(self.notes("environ")[-1])


@pytest.fixture
def bridged(tmp_path: Path, picture: Path) -> Iterator[Bridged]:
    made = Bridged(tmp_path, picture)
    yield made
    for editor in made.editors:
        editor.close()


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended but whose parent has not noticed does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition: Any, seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_edit_comes_back_and_what_made_it_is_recorded(bridged: Bridged) -> None:
    editor = bridged.editor(settings={"steps": 50})
    fields = json.loads(bridged.ask(editor))["edited_image"]
    stored = editor.store.root / fields["sha256"][:2] / f"{fields['sha256']}.png"
    with Image.open(stored) as edited, Image.open(bridged.picture) as original:
        assert np.array_equal(np.asarray(edited), 255 - np.asarray(original))
    described = editor.store.description(fields["settings"])
    assert described["hello"]["worker"] == "Obedient"
    assert described["hello"]["version"] == "1.2"
    assert described["hello"]["weights"] == "none"
    assert described["settings"]["steps"] == 50
    assert described["worker"] == "worker.py"
    assert len(described["worker_sha256"]) == 64
    assert str(bridged.worker.parent) not in json.dumps(described)


def test_a_worker_serves_many_edits_and_leaves_no_pictures_behind(bridged: Bridged) -> None:
    editor = bridged.editor()
    for instruction in ("a", "b", "c"):
        assert read_edit_reply(bridged.ask(editor, instruction)).stored
    (start,) = bridged.notes("starts")
    folder = editor.link._worker.folder
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o077 == 0
    editor.close()
    assert not folder.exists()
    assert not is_running(int(start))


def test_what_a_worker_prints_goes_to_its_log(bridged: Bridged) -> None:
    editor = bridged.editor(name="Log of / this")
    bridged.ask(editor)
    editor.close()
    log = bridged.folder / "LMUData" / "medbench" / "bridge" / "bridge_Log_of___this.log"
    text = log.read_text()
    for line in ('loading weights{"loss": 0.5}', "noise without a", "on stdout while editing"):
        assert line in text
    assert '"status"' not in text


@pytest.mark.parametrize(
    ("instruction", "status", "words"),
    [
        ("refuse", Status.REFUSAL, "I will not edit this."),
        ("none", Status.MISSING, "the model returned no image"),
    ],
)
def test_an_answer_without_an_image_keeps_its_kind(
    bridged: Bridged, instruction: str, status: Status, words: str
) -> None:
    reply = read_edit_reply(bridged.ask(bridged.editor(), instruction))
    assert (reply.status, reply.note) == (status, words)


@pytest.mark.parametrize(
    ("instruction", "words"),
    [("raise", "RuntimeError: CUDA out of memory"), ("words", "TypeError")],
)
def test_an_exception_of_the_model_is_a_failed_call_and_the_worker_lives_on(
    bridged: Bridged, instruction: str, words: str
) -> None:
    editor = bridged.editor()
    line = bridged.ask(editor, instruction)
    assert line.startswith("Failed to obtain answer via API.")
    assert words in line
    assert read_edit_reply(bridged.ask(editor)).stored
    assert len(bridged.notes("starts")) == 1


def test_a_path_is_an_image_too(bridged: Bridged) -> None:
    reply = read_edit_reply(bridged.ask(bridged.editor(), "path"))
    assert reply.stored is not None


def test_the_worker_sees_a_short_list_of_our_variables(
    bridged: Bridged, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "AWS_SECRET_ACCESS_KEY", "RANK"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HF_TOKEN", "hf_for_gated_weights")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    bridged.ask(bridged.editor(environ={"MODEL_FOLDER": "/models", "PYTHONPATH": "/more"}))
    seen = bridged.environ
    assert "secret" not in {value for name, value in seen.items()}
    assert (seen["HF_TOKEN"], seen["CUDA_VISIBLE_DEVICES"]) == ("hf_for_gated_weights", "3")
    assert seen["MODEL_FOLDER"] == "/models"
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["PYTHONPATH"].split(os.pathsep)[-1] == "/more"


def test_values_of_variables_are_not_recorded(bridged: Bridged) -> None:
    editor = bridged.editor(environ={"MODEL_KEY": "a secret value"})
    fields = json.loads(bridged.ask(editor))["edited_image"]
    described = editor.store.description(fields["settings"])
    assert described["environ"] == ["MODEL_KEY"]
    assert "a secret value" not in json.dumps(described)


def test_the_checkout_is_the_current_directory_and_first_on_the_path(
    bridged: Bridged, tmp_path: Path
) -> None:
    checkout = tmp_path / "repository"
    checkout.mkdir()
    bridged.ask(bridged.editor(checkout=str(checkout)))
    assert bridged.notes("cwd") == [str(checkout)]
    assert bridged.environ["PYTHONPATH"].split(os.pathsep)[0] == str(checkout)


def test_the_commit_of_a_checkout_is_recorded() -> None:
    from medbench_vlmeval.models.bridge_launch import checkout_commit

    assert checkout_commit(Path(os.devnull).parent) == ""
    assert len(checkout_commit(Path(__file__).parent)) in (0, 40)


def test_places_are_no_part_of_an_edit_but_the_workers_source_is(
    bridged: Bridged, tmp_path: Path
) -> None:
    first = bridged.ask(bridged.editor())
    (tmp_path / "elsewhere").mkdir()
    assert bridged.ask(bridged.editor(checkout=str(tmp_path / "elsewhere"))) == first
    assert len(bridged.notes("edits")) == 1
    bridged.worker.write_text(bridged.worker.read_text() + "\n# changed\n")
    bridged.ask(bridged.editor())
    assert len(bridged.notes("edits")) == 2


def test_a_made_edit_needs_no_worker(bridged: Bridged) -> None:
    first = bridged.ask(bridged.editor())
    assert bridged.ask(bridged.editor(python="/nowhere/python")) == first


@pytest.mark.parametrize(
    ("name", "variable"),
    [("python", "MEDBENCH_SEEDX_PYTHON"), ("checkout", "MEDBENCH_SEEDX_CHECKOUT")],
)
def test_a_missing_part_is_named_with_its_variable_and_the_page(
    bridged: Bridged, tmp_path: Path, name: str, variable: str
) -> None:
    from medbench_vlmeval.models.bridge_zoo import SeedXEditor

    parts = {"python": sys.executable, "checkout": str(tmp_path)}
    del parts[name]
    line = bridged.ask(SeedXEditor(name="SEED-X", **parts))
    for words in (name, variable, "docs/bridge.md", "Failed to obtain answer via API."):
        assert words in line


def test_variables_name_what_the_entry_does_not(
    bridged: Bridged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDBENCH_BRIDGED_PYTHON", sys.executable)
    monkeypatch.setenv("MEDBENCH_BRIDGED_WORKER", str(bridged.worker))
    editor = bridged.editor(python=None, worker=None)
    assert read_edit_reply(bridged.ask(editor)).stored


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("python", "/nowhere/python", "expected a Python interpreter"),
        ("worker", "/nowhere/worker.py", "instruct_diffusion, seedx"),
        ("worker", "unknown", "instruct_diffusion, seedx"),
        ("checkout", "/nowhere", "expected the folder of a checkout"),
    ],
)
def test_a_part_that_is_not_there_is_a_failed_call(
    bridged: Bridged, part: str, value: str, words: str
) -> None:
    line = bridged.ask(bridged.editor(**{part: value}))
    assert line.startswith("Failed to obtain answer via API.")
    assert words in line


@pytest.mark.parametrize(
    "arguments", [{"edit_timeout_s": 0}, {"start_timeout_s": -1}, {"max_restarts": -1}]
)
def test_limits_that_make_no_sense_are_refused(bridged: Bridged, arguments: Any) -> None:
    with pytest.raises(ValueError, match="time-outs above 0"):
        bridged.editor(**arguments)


def test_further_arguments_reach_the_worker_and_those_of_the_host_do_not(bridged: Bridged) -> None:
    editor = bridged.editor(steps=30, retry=10, verbose=False)
    bridged.ask(editor)
    told = json.loads(bridged.environ["MEDBENCH_BRIDGE_SETTINGS"])
    assert told == {"notes": str(bridged.folder), "steps": 30}


def test_threads_share_one_worker_and_make_no_edit_twice(bridged: Bridged) -> None:
    editor = bridged.editor()
    lines: dict[int, str] = {}

    def ask(number: int) -> None:
        lines[number] = bridged.ask(editor, f"edit {number % 4}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bridged.notes("edits")) == [f"edit {number}" for number in range(4)]
    assert len(bridged.notes("starts")) == 1
    assert all(lines[number] == lines[number % 4] for number in range(12))


def test_a_forked_process_starts_a_worker_of_its_own(bridged: Bridged) -> None:
    editor = bridged.editor(reuse_edits=False)
    bridged.ask(editor, "first")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if child == 0:
        made = bridged.ask(editor, "second").startswith('{"edited_image"')
        editor.close()
        os._exit(0 if made else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert read_edit_reply(bridged.ask(editor, "third")).stored
    assert len(bridged.notes("starts")) == 2
    assert is_running(int(bridged.notes("starts")[0]))


def test_a_worker_ends_with_its_editor(bridged: Bridged) -> None:
    editor = bridged.editor()
    bridged.ask(editor)
    (start,) = map(int, bridged.notes("starts"))
    assert is_running(start)
    bridged.editors.clear()
    del editor
    gc.collect()
    assert not is_running(start)
