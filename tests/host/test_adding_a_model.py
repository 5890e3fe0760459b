"""The page on adding a model, executed: every file it shows, in the real host."""

from __future__ import annotations

import http.server
import importlib
import importlib.util
import json
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval import registry
from medbench_vlmeval.editing import EditStore, read_edit_reply
from medbench_vlmeval.images import encode_png, read_rgb
from medbench_vlmeval.types import Status

from ..data.packs import MEDEBENCH, lend_packs
from .environments import ROOT, build, unpack
from .running import Host

pytestmark = pytest.mark.host

PAGE = (ROOT / "docs" / "adding-a-model.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(re.findall(r"```\w+ (\S+)\n(.*?)```", PAGE, flags=re.DOTALL))


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's package, built with its own pyproject.toml and unpacked into a folder."""
    sources = tmp_path_factory.mktemp("package")
    for name in ("contrast_editor.py", "pyproject.toml"):
        (sources / name).write_text(FILES[name], encoding="utf-8")
    wheel = build("wheel", sources, tmp_path_factory.mktemp("dist"))
    installed = tmp_path_factory.mktemp("installed_package")
    unpack(wheel, installed)
    return installed


@pytest.fixture
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lend_packs(tmp_path / "LMUData", MEDEBENCH)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    # VLMEvalKit is imported first: what it registers must outlive this test.
    importlib.import_module("vlmeval.config")
    monkeypatch.setattr(registry, "EDITORS", dict(registry.EDITORS))


@pytest.fixture
def sample(_own_folders: None) -> Any:
    """The generated data set as VLMEvalKit builds it."""
    from vlmeval.dataset import build_dataset

    return build_dataset("MedEBench_sample")


def loaded(name: str, folder: Path, *, as_name: str = "", text: str = "") -> ModuleType:
    """A file of the page as an imported module."""
    path = folder / name
    path.write_text(text or FILES[name], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(as_name or path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(name: str, **changes: Any) -> Any:
    """The editor as its entry in the zoo builds it."""
    entry = registry.EDITORS[name]
    return entry.editor(**{"name": name, **entry.arguments, **changes})


def pixels_of(line: str) -> np.ndarray:
    stored = read_edit_reply(line).stored
    assert stored is not None, line
    return read_rgb(EditStore.default().path(stored)).pixels


def test_the_page_shows_the_files_that_are_tested_here() -> None:
    assert set(FILES) == {
        "contrast_editor.py",
        "pyproject.toml",
        "config.json",
        "batch_editor.py",
        "http_editor.py",
        "in_context_editor.py",
    }


# the example, in each place


def test_the_installed_package_runs_in_the_host(distribution: Path, tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path, {"PYTHONPATH": str(distribution)}, fresh=True)
    models = ("Contrast", "Contrast-Strong")
    host.run("--data", "MedEBench_sample", "--model", *models, "--limit", "3")
    weak, strong = (host.scores(model, "MedEBench_sample") for model in models)
    assert weak["n_answered"] == strong["n_answered"] == 3
    assert strong["PSNR_outside"] < weak["PSNR_outside"]


def test_entries_of_a_configuration_run_in_the_host(distribution: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(FILES["config.json"])
    host = Host("ms-vlmeval", tmp_path, {"PYTHONPATH": str(distribution)})
    host.run("--config", "config.json", "--limit", "2")
    models = json.loads(FILES["config.json"])["model"]
    found = {model: host.scores(model, "MedEBench_sample") for model in models}
    assert [scores["n_answered"] for scores in found.values()] == [2, 2]
    assert found["contrast-4"]["PSNR_outside"] < found["contrast-1.2"]["PSNR_outside"]


def test_the_file_works_among_the_packages_own_models(sample: Any, tmp_path: Path) -> None:
    text = FILES["contrast_editor.py"]
    for module in ("registry", "models.base"):
        written = re.search(rf"from medbench_vlmeval\.{module} import", text)
        assert written is not None
        inner = "..registry" if module == "registry" else ".base"
        text = text.replace(written[0], f"from {inner} import")
    loaded(
        "contrast_editor.py",
        tmp_path,
        as_name="medbench_vlmeval.models.contrast_editor",
        text=text,
    )
    assert {"Contrast", "Contrast-Strong"} <= set(registry.EDITORS)
    editor = built("Contrast-Strong")
    line = editor.generate(sample.build_prompt(0), "MedEBench_sample")
    described = EditStore.default().description(read_edit_reply(line).settings)
    assert described is not None
    assert (described["model"], described["factor"]) == ("Contrast-Strong", 2.5)


@pytest.mark.usefixtures("_own_folders")
def test_what_the_example_declines_is_a_refusal(tmp_path: Path) -> None:
    loaded("contrast_editor.py", tmp_path)
    Image.new("RGB", (20, 20)).save(tmp_path / "1.png")
    message = [
        {"type": "image", "value": str(tmp_path / "1.png")},
        {"type": "text", "value": "Please sign the report."},
    ]
    reply = read_edit_reply(built("Contrast").generate(message))
    assert (reply.status, reply.note) == (Status.REFUSAL, "I only change pictures.")


# the other examples


def test_the_batch_example_edits_several_pictures_at_once(sample: Any, tmp_path: Path) -> None:
    loaded("batch_editor.py", tmp_path)
    editor = built("Negative-Batch")
    sizes: list[int] = []
    edit_requests = editor.edit_requests
    editor.edit_requests = lambda requests: sizes.append(len(requests)) or edit_requests(requests)
    editor.set_dump_image(sample.dump_image)
    prompts = [sample.build_prompt(position) for position in range(len(sample.data))]
    for prompt in prompts:
        line = editor.generate(prompt, "MedEBench_sample")
        assert np.array_equal(pixels_of(line), 255 - read_rgb(prompt[0]["value"]).pixels)
    assert sizes == [8] * (len(prompts) // 8) + [len(prompts) % 8] * bool(len(prompts) % 8)


class Service(http.server.BaseHTTPRequestHandler):
    """Mirrors pictures; declines where the instruction says so; wants the right key."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer a-key-of-mine":
            self.send_error(401)
            return
        answer = {"image": b64encode(mirrored(b64decode(asked["image"]))).decode()}
        if "refuse" in asked["instruction"]:
            answer = {"refusal": "This I will not do."}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


def mirrored(data: bytes) -> bytes:
    return encode_png(np.ascontiguousarray(read_rgb(data).pixels[:, ::-1]))


@pytest.fixture
def service() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/edit"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_service_example_asks_and_reads_the_answer(
    sample: Any, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded("http_editor.py", tmp_path)
    monkeypatch.setenv("MY_SERVICE_KEY", "a-key-of-mine")
    editor = built("My-Service", url=service)
    image, text = sample.build_prompt(0)
    line = editor.generate([image, text], "MedEBench_sample")
    assert np.array_equal(pixels_of(line), read_rgb(image["value"]).pixels[:, ::-1])
    written = [path.read_text() for path in (tmp_path / "store").rglob("*.json")]
    assert written
    assert not any("a-key-of-mine" in it for it in written)
    refused = editor.generate([image, {"type": "text", "value": "refuse this"}])
    assert read_edit_reply(refused).note == "This I will not do."
    monkeypatch.setenv("MY_SERVICE_KEY", "another")
    failed = read_edit_reply(editor.generate([image, {"type": "text", "value": "Again."}]))
    assert failed.status is Status.API_FAIL
    assert "401" in failed.note


@pytest.mark.usefixtures("_own_folders")
def test_the_in_context_example_uses_the_demonstrations(tmp_path: Path) -> None:
    from vlmeval.dataset import build_dataset

    module = loaded("in_context_editor.py", tmp_path)
    dataset = build_dataset("MedEBench_1shot_sample")
    editor = built("Mean-Change")
    prompt = dataset.build_prompt(0)
    shown = [part["value"] for part in prompt if part["type"] == "image"]
    assert len(shown) == 3
    change = module.mean_colour(shown[1]) - module.mean_colour(shown[0])
    assert np.abs(change).max() > 0
    expected = np.clip(np.rint(read_rgb(shown[2]).pixels + change), 0, 255)
    assert np.array_equal(pixels_of(editor.generate(prompt, "MedEBench_1shot_sample")), expected)
    alone = [{"type": "image", "value": shown[2]}, {"type": "text", "value": "Remove it."}]
    assert np.array_equal(pixels_of(editor.generate(alone)), read_rgb(shown[2]).pixels)


# the other page with an entry


@pytest.mark.usefixtures("_own_folders")
def test_the_entry_of_a_fine_tuned_model_is_one_that_its_class_takes() -> None:
    page = (ROOT / "docs" / "finetuning.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json finetuned.json\n(.*?)```", page, flags=re.DOTALL)
    entry = json.loads(text)["model"]["ip2p-4shot"]
    editor = getattr(importlib.import_module("vlmeval.vlm"), entry.pop("class"))(**entry)
    assert editor.settings["checkpoint"] == "ip2p-4shot"
    assert editor.settings["pipeline"] == "StableDiffusionInstructPix2PixPipeline"
    assert editor.settings["call"]["image_guidance_scale"] == 1.6
