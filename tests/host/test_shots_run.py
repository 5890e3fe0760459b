"""In-context editing and several seeds through the real host, as its users run it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import read_jsonl

from .environments import ROOT
from .plugins import write_plugin
from .running import HOSTS, Host, write_config

pytestmark = pytest.mark.host

CHECKING = """
from PIL import Image, ImageOps

from medbench_vlmeval.data import sample_of
from medbench_vlmeval.models.base import ImageEditor
from medbench_vlmeval.registry import register_editor


@register_editor("Checking", replicas=2)
class Checking(ImageEditor):
    TAKES_DEMONSTRATIONS = True

    def edit(self, image, instruction, *, seed):
        raise NotImplementedError

    def edit_request(self, request):
        asked = sample_of(request.image_path)
        expect(request.own_instruction, asked.instruction)
        for shown in request.demonstrations:
            example = sample_of(shown.previous)
            expect(shown.changed, example.reference)
            expect(shown.instruction, example.instruction)
            expect(example.task, asked.task)
        expect(len(request.earlier_images), 2 * len(request.demonstrations))
        if not request.demonstrations:
            return request.image
        with Image.open(request.demonstrations[0].changed) as changed:
            resized = changed.convert("RGB").resize(request.image.size)
        return Image.blend(request.image, resized, 0.2 + 0.1 * request.replica)


def expect(found, wanted):
    if found != wanted:
        raise ValueError(f"expected {wanted!r}, got {found!r}")
"""


def files_of(host: Host, model: str) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    predictions = host.result(model, "MedEBench_1shot_sample")
    manifest = predictions.with_name(f"{predictions.stem}_manifest.json")
    rows, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    images = predictions.with_name(f"{predictions.stem}_images")
    return json.loads(manifest.read_text(encoding="utf-8")), rows, images


@pytest.fixture(scope="module", params=HOSTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("shots")
    plugin = write_plugin(folder / "plugin", "checking_editor", CHECKING)
    host = Host(request.param, folder)
    paths = str(plugin)
    if request.param == "upstream":
        paths += ":" + host._environ()["PYTHONPATH"]
    log = host.run(
        "--data",
        "MedEBench_1shot_sample",
        "--model",
        "Baseline-CopyInput",
        "Checking",
        PYTHONPATH=paths,
    )
    return host, log


def test_a_baseline_runs_and_is_named_as_taking_none(run: Any) -> None:
    host, log = run
    scores = host.scores("Baseline-CopyInput", "MedEBench_1shot_sample")
    assert scores["CP"] == scores["CP_strict"] == 1.0
    assert scores["n_answered"] == scores["n_expected"]
    assert "Baseline-CopyInput takes one image and makes no use of demonstrations" in log
    assert "have fewer than 1 demonstrations of their task" in log
    manifest, _, _ = files_of(host, "Baseline-CopyInput")
    assert manifest["in_context"]["takes_demonstrations"] is False
    assert manifest["in_context"]["samples_of"] == "MedEBench_sample"


def test_an_editor_gets_the_demonstrations_that_the_files_name(run: Any) -> None:
    host, log = run
    scores = host.scores("Checking", "MedEBench_1shot_sample")
    assert scores["n_answered"] == scores["n_expected"], "nothing it was given was wrong"
    assert "Checking takes one image" not in log
    manifest, rows, _ = files_of(host, "Checking")
    assert manifest["in_context"]["takes_demonstrations"] is True
    shown = {str(row["index"]): row["demonstrations"] for row in rows}
    assert manifest["in_context"]["demonstrations"] == shown
    assert manifest["in_context"]["samples_by_shots"]["1"] == 10
    for row in rows:
        assert (row["scores"]["CP"]["value"] < 1.0) == bool(row["demonstrations"])


def test_images_of_every_seed_are_kept_listed_and_compared(run: Any) -> None:
    host, log = run
    scores = host.scores("Checking", "MedEBench_1shot_sample")
    assert "CP strict seed sd" in log
    assert scores["CP_seed_sd"] > 0
    assert scores["CP_seed_sd_n"] == scores["n_expected"]
    _, rows, images = files_of(host, "Checking")
    with (images / "index.csv").open(newline="", encoding="utf-8") as stream:
        listed = list(csv.DictReader(stream))
    assert len(listed) == 2 * len(rows)
    files = {(it["id"], it["replica"]): it["file"] for it in listed}
    for row in rows:
        for replica in row["replicas"]:
            assert replica["file"] == files[str(row["index"]), str(replica["replica"])]
            assert (images / replica["file"]).is_file()
        assert row["scores"]["CP"]["value"] == row["replicas"][0]["CP"]


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "in-context.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?register_editor.*?)```", page, flags=re.DOTALL)
    assert example is not None
    plugin = write_plugin(tmp_path / "plugin", "example_editor", example[1])
    host = Host("ms-vlmeval", tmp_path, {"PYTHONPATH": str(plugin)})
    host.run("--data", "MedEBench_1shot_sample", "--model", "ShowsExample", "--limit", "3")
    scores = host.scores("ShowsExample", "MedEBench_1shot_sample")
    assert scores["n_expected"] == scores["n_answered"] == 3
    assert scores["CP_strict"] < 1.0
    manifest, _, _ = files_of(host, "ShowsExample")
    assert manifest["in_context"]["takes_demonstrations"] is True


def test_pictures_of_several_seeds_come_from_a_folder(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    made = tmp_path / "made"
    program = (
        "from pathlib import Path; import shutil; from medbench_vlmeval.data import load_medebench;"
        f"made = Path({str(made)!r}); made.mkdir();"
        "samples = load_medebench('MedEBench_sample').samples;"
        "[shutil.copy(path, made / f'{it.id}_{k}.png') for it in samples"
        " for k, path in enumerate((it.previous, it.reference, it.previous))]"
    )
    host.python(program)
    models = {"Seeds": {"class": "FolderEditor", "images": str(made), "replicas": 3}}
    data = {
        "MedEBench_1shot_sample": {
            "class": "MedEBenchInContext",
            "dataset": "MedEBench_1shot_sample",
        }
    }
    host.run("--config", write_config(tmp_path / "seeds.json", models, data))
    scores = host.scores("Seeds", "MedEBench_1shot_sample")
    assert scores["CP"] == 1.0
    assert scores["CP_strict_seed_sd"] == 0.0
    manifest, rows, _ = files_of(host, "Seeds")
    assert manifest["in_context"]["takes_demonstrations"] == "unknown"
    assert all(len(row["replicas"]) == 3 for row in rows)
