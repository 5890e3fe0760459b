"""MedEBench through the real host, as its users run it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import read_jsonl

from ..shared import shared_path
from .environments import clean_environ, run_python
from .running import HOSTS, Host, write_config

pytestmark = pytest.mark.host

BASELINES = (
    "Baseline-CopyInput",
    "Baseline-Reference",
    "Baseline-Blank",
    "Baseline-BlurROI",
    "Baseline-NoiseOutsideROI",
)
EDITORS = (
    "gemini_2_flash",
    "icedit",
    "imagic-sd-v1-4",
    "instruct-diffusion",
    "instruct-pix2pix",
    "paint-by-inpaint",
    "seedx",
)


@pytest.fixture(scope="module", params=HOSTS)
def sample_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """All baselines on the sample pack, inference and evaluation in one go."""
    host = Host(request.param, tmp_path_factory.mktemp("sample"), fresh=True)
    host.run("--data", "MedEBench_sample", "--model", *BASELINES, "--mode", "all")
    return host


def test_the_host_records_the_official_headline(sample_run: Host) -> None:
    status = sample_run.status("Baseline-CopyInput", "MedEBench_sample")
    assert status["status"] == "done"
    assert "error_message" not in status
    assert status["primary_metric"] == "CP"
    assert status["metrics"]["CP"] == 1.0


def test_the_baselines_are_ordered_as_they_must_be(sample_run: Host) -> None:
    scores = {name: sample_run.scores(name, "MedEBench_sample") for name in BASELINES}
    copied, reference = scores["Baseline-CopyInput"], scores["Baseline-Reference"]
    blurred, noisy = scores["Baseline-BlurROI"], scores["Baseline-NoiseOutsideROI"]
    blank = scores["Baseline-Blank"]
    for perfect in (copied, reference, blurred):
        assert perfect["CP_strict"] == 1.0
    assert copied["PSNR_inside"] == 100.0
    assert reference["PSNR_inside"] < 60
    assert noisy["PSNR_inside"] == 100.0
    assert max(blank["CP_strict"], noisy["CP_strict"]) < 0.7
    # The black ROI counts as perfectly kept in the official column.
    assert blank["CP"] > blank["CP_strict"]
    assert noisy["CP"] > noisy["CP_strict"]


def test_a_run_without_a_judge_is_blank_not_zero(sample_run: Host) -> None:
    scores = sample_run.scores("Baseline-CopyInput", "MedEBench_sample")
    assert "EA" not in scores
    assert "VQ" not in scores
    predictions = sample_run.result("Baseline-CopyInput", "MedEBench_sample")
    manifest = json.loads(
        predictions.with_name(f"{predictions.stem}_manifest.json").read_text(encoding="utf-8")
    )
    assert "not judged" in manifest["judge_note"]
    assert manifest["judge"] is None
    described = list(manifest["editors"].values())
    assert [editor["model"] for editor in described] == ["Baseline-CopyInput"]


def test_every_number_can_be_traced_to_a_sample(sample_run: Host) -> None:
    predictions = sample_run.result("Baseline-BlurROI", "MedEBench_sample")
    rows, warnings = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    scores = sample_run.scores("Baseline-BlurROI", "MedEBench_sample")
    assert warnings == []
    assert len(rows) == scores["n_expected"] == scores["n_answered"]
    mean = sum(row["scores"]["CP"]["value"] for row in rows) / len(rows)
    assert mean == pytest.approx(scores["CP"], abs=1e-15)
    images = predictions.with_name(f"{predictions.stem}_images")
    assert all((images / row["edited"]["file"]).is_file() for row in rows)


def test_an_evaluation_of_moved_outputs_without_the_store_gives_the_same(
    sample_run: Host, tmp_path: Path
) -> None:
    before = sample_run.scores("Baseline-BlurROI", "MedEBench_sample")
    moved = Host(sample_run.name, tmp_path)
    model = sample_run.outputs / "Baseline-BlurROI"
    shutil.copytree(model, moved.outputs / "Baseline-BlurROI", symlinks=True)
    predictions = moved.result("Baseline-BlurROI", "MedEBench_sample")
    for path in predictions.parent.glob("*_score*"):
        path.unlink()
    untouched = predictions.read_bytes()
    arguments = ("--data", "MedEBench_sample", "--model", "Baseline-BlurROI")
    moved.run(*arguments, "--mode", "eval", PRED_FORMAT=predictions.suffix[1:])
    assert moved.scores("Baseline-BlurROI", "MedEBench_sample") == before
    assert predictions.read_bytes() == untouched


def test_infer_then_eval_in_another_format(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    arguments = ("--data", "MedEBench_sample", "--model", "Baseline-NoiseOutsideROI")
    host.run(*arguments, "--mode", "infer", PRED_FORMAT="json")
    predictions = host.result("Baseline-NoiseOutsideROI", "MedEBench_sample")
    assert predictions.suffix == ".json"
    images = predictions.with_name(f"{predictions.stem}_images")
    assert any(images.iterdir()), "the images are copied even when only inferring"
    before = predictions.read_bytes()
    host.run(*arguments, "--mode", "eval", PRED_FORMAT="json")
    assert host.scores("Baseline-NoiseOutsideROI", "MedEBench_sample")["n_answered"] > 0
    assert predictions.read_bytes() == before


def test_reuse_redoes_only_what_a_repair_marked(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    arguments = ("--data", "MedEBench_sample", "--model", "Baseline-BlurROI")
    host.run(*arguments, "--mode", "all", PRED_FORMAT="tsv")
    predictions = host.result("Baseline-BlurROI", "MedEBench_sample")
    before = host.scores("Baseline-BlurROI", "MedEBench_sample")
    image = min(predictions.with_name(f"{predictions.stem}_images").iterdir())
    for copy in tmp_path.rglob(image.name):
        copy.unlink()
    lost = host.run(*arguments, "--mode", "all", "--reuse", PRED_FORMAT="tsv")
    assert "medbench repair" in lost
    repair = ("-m", "medbench_vlmeval.cli", "repair", str(predictions))
    environ = clean_environ(LMUData=str(tmp_path / "LMUData"))
    repaired = run_python(sys.executable, *repair, environ=environ)
    assert "1 rows marked" in repaired.stdout, repaired.stderr
    host.run(*arguments, "--mode", "all", "--reuse", PRED_FORMAT="tsv")
    assert host.scores("Baseline-BlurROI", "MedEBench_sample") == before


@pytest.mark.parametrize("name", HOSTS)
def test_the_api_pipeline_runs_an_editor(name: str, tmp_path: Path) -> None:
    host = Host(name, tmp_path)
    arguments = ("--data", "MedEBench_sample", "--model", "Baseline-Reference", "--api-mode")
    host.run(*arguments, "--mode", "all")
    scores = host.scores("Baseline-Reference", "MedEBench_sample")
    assert scores["CP_strict"] == 1.0
    assert host.status("Baseline-Reference", "MedEBench_sample")["status"] == "done"


@pytest.fixture(scope="module", params=HOSTS)
def gallery_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """The outputs of the seven published editors on three real samples, by the folder editor."""
    gallery = shared_path("real/medebench_gallery")
    host = Host(request.param, tmp_path_factory.mktemp("gallery"))
    data = host.folder / "LMUData"
    data.mkdir()
    prepare = ("-m", "medbench_vlmeval.cli", "data", "prepare", "medebench", "--from", str(gallery))
    prepared = run_python(sys.executable, *prepare, environ=clean_environ(LMUData=str(data)))
    assert prepared.returncode == 0, prepared.stderr
    models = {
        name: {"class": "FolderEditor", "images": str(gallery / "generated_images" / name)}
        for name in EDITORS
    }
    datasets = {"MedEBench_test": {"class": "MedEBench", "dataset": "MedEBench_test"}}
    host.run("--config", write_config(host.folder / "gallery.json", models, datasets))
    return host


def test_official_cp_agrees_with_the_published_values(gallery_run: Host) -> None:
    published = json.loads(
        shared_path("real/medebench_gallery/published_scores.json").read_text(encoding="utf-8")
    )
    differences = {
        (identifier, editor): abs(value - published[identifier][editor]["CP"])
        for editor in EDITORS
        for identifier, value in _cp_by_sample(gallery_run, editor).items()
    }
    assert len(differences) == 21
    assert sum(differences.values()) / 21 <= 0.05
    assert max(differences.values()) <= 0.10


def test_strict_cp_is_not_above_official_cp(gallery_run: Host) -> None:
    for editor in EDITORS:
        scores = gallery_run.scores(editor, "MedEBench_test")
        assert scores["CP_strict"] < scores["CP"]
        assert scores["n_answered"] == 3


def _cp_by_sample(host: Host, editor: str) -> dict[str, Any]:
    predictions = host.result(editor, "MedEBench_test")
    rows, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    return {str(row["index"]): row["scores"]["CP"]["value"] for row in rows}
