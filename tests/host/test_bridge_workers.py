"""The worker's side: the file others may copy, the two shipped workers, and the page's example."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.bridge_workers.instruct_diffusion import working_size
from medbench_vlmeval.editing import read_edit_reply
from medbench_vlmeval.types import Status

from .environments import ROOT
from .fake_checkouts import write_files, write_instruct_diffusion, write_seedx, write_worker
from .test_bridge import _own_folders, is_running, picture, wait_until

__all__ = ["_own_folders", "picture"]
pytestmark = pytest.mark.host

WORKERS = ROOT / "medbench_vlmeval" / "bridge_workers"
SOURCES = sorted(WORKERS.glob("*.py"))


def message(picture: Path, instruction: str) -> list[dict[str, str]]:
    return [{"type": "image", "value": str(picture)}, {"type": "text", "value": instruction}]


def edited(editor: Any, line: str) -> np.ndarray:
    reply = read_edit_reply(line)
    assert reply.stored is not None, line
    with Image.open(editor.store.path(reply.stored)) as image:
        return np.asarray(image).astype(int)


class Worker:
    """The obedient worker, driven by hand."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder, self.settings = folder, settings
        told = json.dumps({"notes": str(folder), **settings})
        self.process = subprocess.Popen(
            [sys.executable, str(write_worker(folder))],
            env={"PYTHONPATH": str(WORKERS), "MEDBENCH_BRIDGE_SETTINGS": told},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def request(self, number: int, instruction: str, image: Path) -> str:
        output = str(self.folder / f"{number}_out.png")
        fields = {"id": number, "image": str(image), "instruction": instruction, "output": output}
        return json.dumps({**fields, "settings": self.settings}) + "\n"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_worker_is_python_3_8_and_needs_nothing_at_import(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))
    needed = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            needed |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            needed.add(str(node.module).partition(".")[0])
    assert needed <= sys.stdlib_module_names


def test_open_requests_are_answered_when_stdin_ends(tmp_path: Path, picture: Path) -> None:
    worker = Worker(tmp_path)
    lines = [worker.request(number, f"edit {number}", picture) for number in (1, 2)]
    stdout, _ = worker.process.communicate("no request\n" + "".join(lines), timeout=30)
    assert worker.process.returncode == 0
    messages = [json.loads(line) for line in stdout.splitlines() if line.startswith('{"')]
    assert [it["id"] for it in messages if "status" in it] == [1, 2]
    assert (tmp_path / "2_out.png").is_file()


def test_a_worker_whose_host_is_gone_does_not_finish_its_edit(
    tmp_path: Path, picture: Path
) -> None:
    worker = Worker(tmp_path, sleep=60)
    assert worker.process.stdin is not None
    assert worker.process.stdout is not None
    worker.process.stdin.write(worker.request(1, "long", picture))
    worker.process.stdin.flush()
    assert wait_until((tmp_path / "edits").is_file)
    worker.process.stdin.close()
    worker.process.stdout.close()
    begun = time.monotonic()
    worker.process.wait(20)
    assert time.monotonic() - begun < 10
    assert not (tmp_path / "1_out.png").exists()


def test_what_reads_stdin_in_a_worker_takes_no_request(tmp_path: Path, picture: Path) -> None:
    source = """
        import protocol, subprocess, sys

        def edit(image, instruction, seed, settings):
            read = sys.stdin.read() + subprocess.run(["cat"], capture_output=True, text=True).stdout
            assert read == "", read
            subprocess.run(["echo", "a child's line"])
            return image

        protocol.serve(edit, name="Reader")
        """
    write_files(tmp_path, {"worker.py": source})
    program = [sys.executable, str(tmp_path / "worker.py")]
    fields = {"image": str(picture), "instruction": "x", "output": str(tmp_path / "o.png")}
    lines = "".join(json.dumps({"id": number, **fields}) + "\n" for number in (1, 2))
    done = subprocess.run(
        program,
        env={"PYTHONPATH": str(WORKERS), "PATH": "/usr/bin:/bin"},
        input=lines,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    statuses = [json.loads(line).get("status") for line in done.stdout.split("\n") if line]
    assert statuses == [None, "ok", "ok"]
    assert done.stderr.count("a child's line") == 2


def test_a_batch_of_the_wrong_length_fails_as_a_whole(tmp_path: Path, picture: Path) -> None:
    source = """
        import protocol
        protocol.serve(None, name="Short", batch=lambda requests: [requests[0]["image"]])
        """
    from medbench_vlmeval.models.base import EditRequest
    from medbench_vlmeval.models.bridge import BridgedEditor

    write_files(tmp_path, {"worker.py": source})
    editor = BridgedEditor(
        name="Short", python=sys.executable, worker=str(tmp_path / "worker.py"), batch_size=2
    )
    image = Image.new("RGB", (8, 8))
    requests = [EditRequest(image, word, 1, picture, b"") for word in ("a", "b")]
    results = editor.edit_requests(requests)
    assert all("expected 2 results of a batch, got 1" in it.reason for it in results)
    editor.close()


@pytest.fixture
def seedx(tmp_path: Path) -> Any:
    from medbench_vlmeval.models.bridge_zoo import SeedXEditor

    checkout = write_seedx(tmp_path / "SEED-X")
    editor = SeedXEditor(
        name="SEED-X", python=sys.executable, checkout=str(checkout), settings={"device": "cpu"}
    )
    yield editor
    editor.close()


def test_seedx_draws_the_squashed_picture_anew(seedx: Any, picture: Path) -> None:
    line = seedx.generate(message(picture, "Remove the polyp."))
    drawn = edited(seedx, line)
    with Image.open(picture) as image:
        assert np.array_equal(drawn, 255 - np.asarray(image.resize((1024, 1024))))
    fields = json.loads(line)["edited_image"]
    described = seedx.store.description(fields["settings"])
    assert described["settings"]["steps"] == described["hello"]["steps"] == 50
    assert "all settings of the published run" in described["unknown"]
    log = Path(seedx.store.root).parent / "bridge" / "bridge_SEED-X.log"
    assert f"drawing with seed {fields['seed']}" in log.read_text()


def test_seedx_that_only_talks_gives_no_image(seedx: Any, picture: Path) -> None:
    reply = read_edit_reply(seedx.generate(message(picture, "describe this")))
    assert (reply.status, reply.note) == (Status.MISSING, "a polyp")


def test_a_setting_that_a_shipped_worker_does_not_know_is_an_error(
    tmp_path: Path, picture: Path
) -> None:
    from medbench_vlmeval.models.bridge_zoo import SeedXEditor

    checkout = write_seedx(tmp_path / "SEED-X")
    editor = SeedXEditor(name="X", python=sys.executable, checkout=str(checkout), stepz=3)
    line = editor.generate(message(picture, "a"))
    assert "['stepz']" in line
    editor.close()


def test_instruct_diffusion_edits_at_its_size_and_fits_back(tmp_path: Path) -> None:
    from medbench_vlmeval.models.bridge_zoo import InstructDiffusionEditor

    across, down = np.meshgrid(np.linspace(0, 255, 100), np.linspace(0, 255, 52))
    pixels = np.stack([across, down, across / 2], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.png")
    checkout = write_instruct_diffusion(tmp_path / "InstructDiffusion")
    editor = InstructDiffusionEditor(
        name="InstructDiffusion",
        python=sys.executable,
        checkout=str(checkout),
        settings={"device": "cpu"},
    )
    line = editor.generate(message(tmp_path / "in.png", "Remove the polyp."))
    drawn = edited(editor, line)
    editor.close()
    assert drawn.shape == pixels.shape
    # The sides of 576 x 320 are not as 100 x 52, so fitting crops 3 % of the width away.
    assert np.abs(drawn - pixels)[:, 10:90].mean() < 4
    log = Path(editor.store.root).parent / "bridge" / "bridge_InstructDiffusion.log"
    assert (
        "steps 50 [('words', 'Remove the polyp.')] torch.Size([1, 3, 320, 576])" in log.read_text()
    )


@pytest.mark.parametrize(
    ("size_wh", "expected"),
    [
        ((512, 512), (512, 512)),
        ((1024, 768), (512, 384)),
        ((768, 1024), (384, 512)),
        ((1000, 520), (576, 320)),
        ((100, 52), (576, 320)),
        ((300, 300), (512, 512)),
        ((2000, 100), (1280, 64)),
    ],
)
def test_the_working_size_is_upstreams(size_wh: tuple[int, int], expected: tuple[int, int]) -> None:
    assert working_size(size_wh, 512) == expected


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "bridge.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_pages_example_works_as_it_stands(tmp_path: Path, picture: Path) -> None:
    from medbench_vlmeval.models.bridge import BridgedEditor

    (worker,), (config,) = blocks("python"), blocks("json")
    assert len(worker.splitlines()) <= 20
    inference = """
        from PIL import ImageOps

        def load_model(weights, device):
            assert (weights, device) == ("weights.pt", "cuda")
            return draw

        def draw(image, instruction, *, steps, seed):
            assert steps == 30
            return None if instruction == "nothing" else ImageOps.invert(image)
        """
    write_files(tmp_path, {"mymodel/inference.py": inference})
    (tmp_path / "my_worker.py").write_text(worker)
    config = config.replace("/envs/mymodel/bin/python", sys.executable)
    config = config.replace("/src/", f"{tmp_path}/")
    (entry,) = json.loads(config)["model"].values()
    assert entry.pop("class") == "BridgedEditor"
    editor = BridgedEditor(**entry)
    drawn = edited(editor, editor.generate(message(picture, "invert")))
    with Image.open(picture) as image:
        assert np.array_equal(drawn, 255 - np.asarray(image).astype(int))
    reply = read_edit_reply(editor.generate(message(picture, "nothing")))
    assert (reply.status, reply.note) == (Status.MISSING, "the model drew nothing")
    editor.close()


def test_the_page_lists_every_variable_that_is_passed_on() -> None:
    from medbench_vlmeval.models.bridge_launch import PASSED_ON, PASSED_ON_PREFIXES

    page = (ROOT / "docs" / "bridge.md").read_text(encoding="utf-8")
    bundles = {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
    assert all(f"`{name}`" in page for name in PASSED_ON - bundles)
    assert all(f"`{name}" in page for name in PASSED_ON_PREFIXES)


def test_the_page_lists_the_defaults_of_the_shipped_workers() -> None:
    page = (ROOT / "docs" / "bridge.md").read_text(encoding="utf-8")
    for name, entry in (
        ("seedx", "SeedXEditor"),
        ("instruct_diffusion", "InstructDiffusionEditor"),
    ):
        from medbench_vlmeval.models import bridge_zoo

        module = __import__(f"medbench_vlmeval.bridge_workers.{name}", fromlist=["DEFAULTS"])
        of_entry = getattr(bridge_zoo, entry).default_settings
        assert of_entry.items() <= module.DEFAULTS.items()
        for setting, value in module.DEFAULTS.items():
            assert f"`{setting}`" in page
            assert str(value) in page


def test_the_installed_package_holds_the_workers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"medbench_vlmeval/bridge_workers/{path.name}" for path in SOURCES} <= names


def test_is_running_can_tell(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(process.pid)
    process.communicate(b"\n")
    assert not is_running(process.pid)
