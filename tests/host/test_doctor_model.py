"""``medbench doctor --model``: one model, built in the real host and asked once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from medbench_vlmeval.cli import main
from medbench_vlmeval.hosting import one_edit
from medbench_vlmeval.hosting.diagnosis import Level
from medbench_vlmeval.hosting.one_edit_findings import shown_text, trial_findings
from medbench_vlmeval.hosting.one_edit_options import Trial, models_of_config
from medbench_vlmeval.hosting.one_edit_picture import picture_findings
from medbench_vlmeval.hosting.probes import host_at

from ..data.packs import MEDEBENCH, lend_packs
from .environments import clean_environ
from .fake_hosts import BROKEN, write_files
from .plugins import write_plugin
from .preloaded import preloaded

pytestmark = pytest.mark.host

KEY = "not-to-be-seen-7391"
MODELS = """
import io
import os
import signal

from PIL import Image
from vlmeval.config import supported_VLM
from vlmeval.vlm.base import BaseModel

from medbench_vlmeval.models.base import ImageEditor, declined
from medbench_vlmeval.registry import register_editor


@register_editor("Half-Size")
class HalfSize(ImageEditor):
    def edit(self, image, instruction, *, seed):
        raise NotImplementedError

    def edit_request(self, request):
        stream = io.BytesIO()
        half = request.image.resize((request.image.width // 2, request.image.height // 2))
        half.save(stream, format="JPEG")
        return stream.getvalue()


@register_editor("Prim")
class Prim(ImageEditor):
    def edit(self, image, instruction, *, seed):
        raise declined(f"\\x1b[31mNo: {os.environ['OPENAI_API_KEY']} asks for {instruction}.")


@register_editor("Hungry")
class Hungry(ImageEditor):
    def __init__(self, **settings):
        os.kill(os.getpid(), signal.SIGKILL)

    def edit(self, image, instruction, *, seed):
        return image


class Talker(BaseModel):
    def generate_inner(self, message, dataset=None):
        shown = [part["value"] for part in message if part["type"] == "text"]
        return f"{dataset}: {shown[0]}\\x07\\nkey {os.environ['OPENAI_API_KEY']}"


supported_VLM["Talker"] = Talker
"""


@pytest.fixture(autouse=True)
def _environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "LMUData").mkdir()
    for name in [name for name in os.environ if name not in clean_environ()]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("PYTHONPATH", str(write_plugin(tmp_path / "plugin", "some_models", MODELS)))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "input.png")
    return tmp_path / "input.png"


@pytest.fixture
def _imported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that tries the model is forked from one that has imported the host.

    The generated samples are there, too.
    """
    lend_packs(tmp_path / "LMUData", MEDEBENCH)

    def forked(
        command: Sequence[str], *, input: bytes, stdout: BinaryIO, env: Mapping[str, str], **_: Any
    ) -> subprocess.CompletedProcess[bytes]:
        _python, _m, module = command
        task = tmp_path / "task.json"
        task.write_bytes(input)
        run = preloaded().start(module=module, stdin=str(task), cwd=tmp_path, environ=env)
        status, output = run.finished()
        stdout.write(output.encode())
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr("medbench_vlmeval.hosting.one_edit_findings.subprocess.run", forked)


def doctor(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, ["doctor", *map(str, arguments)])
    assert KEY not in result.output
    assert "\x1b" not in result.output
    return result


# a model that works


def test_an_editor_is_built_asked_once_and_its_picture_shown(picture: Path, tmp_path: Path) -> None:
    asked = ("--image", picture, "--instruction", "Remove the polyp.")
    result = doctor("--model", "Half-Size", *asked, "--out", tmp_path / "looks")
    assert result.exit_code == 0, result.output
    assert "Half-Size was built (HalfSize) in " in result.output
    assert "an image came: 30 x 20 pixels, JPEG" in result.output
    assert "flag lossy" in result.output
    assert "flag size_differs: scoring resizes" in result.output
    assert "aspect_differs" not in result.output
    path = tmp_path / "looks" / "Half-Size@doctor.png"
    assert f"side by side: {path}" in result.output
    with Image.open(path) as shown, Image.open(picture) as before:
        assert shown.size == (60 + 8 + 30, 40)
        assert np.array_equal(np.asarray(shown)[:, :60], np.asarray(before))
        assert np.asarray(shown)[:20, 68:].std() > 5
    assert not (tmp_path / "LMUData" / "medbench").exists(), "neither sample nor store was needed"


@pytest.mark.usefixtures("_imported_once")
def test_a_model_of_a_configuration_edits_the_first_generated_sample(tmp_path: Path) -> None:
    config = {"model": {"mine": {"class": "CopyInput"}}, "data": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = doctor("--model", "mine", "--config", "config.json", "--json")
    assert result.exit_code == 0, result.output
    findings = json.loads(result.output[result.output.index("[") :])
    said = [finding["what"] for finding in findings]
    assert "the result is the input, pixel by pixel" in said
    assert {finding["level"] for finding in findings} == {"ok", "note"}
    assert (tmp_path / "mine@doctor.png").is_file()


@pytest.mark.usefixtures("_imported_once")
def test_a_model_that_speaks_is_shown_speaking() -> None:
    result = doctor("--model", "Talker", "--instruction", "Say what you see.")
    assert result.exit_code == 0, result.output
    assert r"MedEBench_sample: Say what you see.\x07\nkey [removed]" in result.output
    assert "it answered in words" in result.output


# a model that does not


@pytest.mark.usefixtures("_imported_once")
def test_a_refusal_is_told_in_the_models_words(picture: Path) -> None:
    result = doctor("--model", "Prim", "--image", picture, "--instruction", "nudity")
    assert result.exit_code == 1
    assert r"the model refused: \x1b[31mNo: [removed] asks for nudity." in result.output


@pytest.mark.usefixtures("_imported_once")
def test_a_process_that_is_killed_is_told_by_its_signal() -> None:
    result = doctor("--model", "Hungry")
    assert result.exit_code == 1
    assert (
        f"Hungry cannot be built: the process was ended by {signal.SIGKILL.name}" in result.output
    )
    assert "memory" in result.output


def test_a_host_that_cannot_be_imported_is_told_with_its_own_words(
    picture: Path, tmp_path: Path
) -> None:
    host = host_at(write_files(tmp_path / "clone", BROKEN) / "vlmeval")
    (finding,) = trial_findings(Trial("M", picture, "Do.", tmp_path), host)
    assert finding.level is Level.PROBLEM
    expected = "VLMEvalKit cannot be imported: RuntimeError: the host is broken"
    assert finding.what == expected


def test_without_a_host_nothing_is_tried(picture: Path, tmp_path: Path) -> None:
    (finding,) = trial_findings(Trial("M", picture, "Do.", tmp_path), None)
    assert finding.level is Level.PROBLEM
    assert "medbench-vlmeval[host]" in finding.remedy


# inside the process that tries it


def steps(tmp_path: Path, model: str, **models: Any) -> list[dict[str, Any]]:
    record = tmp_path / "record.jsonl"
    task = {"model": model, "models": models, "image": "input.png", "instruction": "Do it."}
    one_edit.answer_once(task, record)
    return [json.loads(line) for line in record.read_text().splitlines()]


def test_the_steps_are_written_down_one_by_one(picture: Path, tmp_path: Path) -> None:
    imported, built, answered = steps(tmp_path, "mine", mine={"class": "Blank", "seed": 4})
    assert [it["step"] for it in (imported, built, answered)] == ["imported", "built", "answered"]
    assert built["kind"] == "Blank"
    assert built["is_editor"] is True
    assert json.loads(answered["reply"])["edited_image"]["size"] == [60, 40]


def test_a_name_that_is_almost_right_is_put_right(picture: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="zoo, got 'baseline-blnk'; did you mean Baseline-Blank"):
        steps(tmp_path, "baseline-blnk")
    with pytest.raises(ValueError, match="of the configuration, got 'mien'; did you mean mine"):
        steps(tmp_path, "mien", mine={})
    with pytest.raises(ValueError, match=r"a class of vlmeval\.api or vlmeval\.vlm, got 'Nobody'"):
        steps(tmp_path, "mine", mine={"class": "Nobody"})


# what is shown, and what is not


def test_secrets_are_found_by_their_names_and_shapes() -> None:
    settings = {"mine": {"class": "X", "api_key": "a-very-long-secret", "nested": [{"TOKEN": KEY}]}}
    environ = {"GOOGLE_API_KEY": "from-the-shell", "HOME": "/home/somebody", "KEY": "short"}
    found = one_edit.secrets_in(environ, settings)
    assert found == [KEY, "a-very-long-secret", "from-the-shell"]
    said = one_edit.without_secrets(f"wrong key {KEY}; wrong sk-proj-abcdefghijkl123 too", found)
    assert said == "wrong key [removed]; wrong [removed] too"


def test_control_characters_and_long_texts_do_not_reach_the_terminal() -> None:
    assert shown_text("a\x1b[2J\nb\u202e\ud800ü") == r"a\x1b[2J\nb\u202e\ud800ü"
    assert len(shown_text("x" * 5000)) == 601


def test_a_result_that_is_no_picture_is_a_problem(picture: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (finding,), side_by_side = picture_findings(picture, broken, frozenset(), None)
    assert finding.level is Level.PROBLEM
    assert side_by_side is None


def test_a_shifted_result_is_flagged_where_the_roi_is_known(tmp_path: Path) -> None:
    from medbench_vlmeval.data import load_medebench

    sample = load_medebench("MedEBench_sample").samples[0]
    assert sample.previous is not None
    with Image.open(sample.previous) as image:
        shifted = np.roll(np.asarray(image.convert("RGB")), 9, axis=1)
    Image.fromarray(shifted).save(tmp_path / "shifted.png")
    findings, _ = picture_findings(
        sample.previous, tmp_path / "shifted.png", frozenset(), sample.roi
    )
    assert any("flag shifted" in finding.what for finding in findings)


# options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--instruction", "Do."], "expected --model NAME"),
        (["--model", "M", "--image", "input.png"], "expected --instruction TEXT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    picture: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from medbench_vlmeval import doctor as module

    with pytest.raises(SystemExit):
        module.main(arguments)
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_picture_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("not a picture")
    result = doctor("--model", "M", "--image", "notes.png", "--instruction", "Do.")
    assert result.exit_code == 1
    assert "notes.png" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model": [1]}', '{"model": {"a": 1}}'])
def test_a_configuration_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json"):
        models_of_config(tmp_path / "config.json")
