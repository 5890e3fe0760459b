"""Editors on pipelines of diffusers through the real host, as a user starts them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .running import HOSTS, Host, write_config
from .tiny_pipelines import save_flux_fill, save_instruct_pix2pix

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

N_SAMPLES = 15
NAMES = ("Pix2Pix-tiny", "ICEdit-tiny")


@pytest.fixture(scope="module", params=HOSTS)
def first_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Host, str, str]:
    """A host that has edited the sample pack, its configuration, and what it said."""
    host = Host(request.param, tmp_path_factory.mktemp("run"))
    few: dict[str, Any] = {"num_inference_steps": 1}
    models = {
        "Pix2Pix-tiny": {
            "class": "DiffusersEditor",
            "name": "Pix2Pix-tiny",
            "entry": "InstructPix2Pix",
            "checkpoint": str(save_instruct_pix2pix(host.folder / "pix2pix")),
            "max_side": 64,
            "call": few,
            "batch_size": 4,
        },
        "ICEdit-tiny": {
            "class": "ICEdit",
            "checkpoint": str(save_flux_fill(host.folder / "fill")),
            "loras": [],
            "width": 64,
            "call": few,
        },
    }
    data = {"MedEBench_sample": {"class": "MedEBench", "dataset": "MedEBench_sample"}}
    config = write_config(host.folder / "config.json", models, data)
    return host, config, run(host, config)


def run(host: Host, config: str) -> str:
    return host.run("--config", config, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")


def memories(host: Host) -> dict[Path, int]:
    """What the store remembers of edits, and when it was written."""
    root = host.folder / "LMUData" / "medbench" / "edits" / "memo"
    return {path: path.stat().st_mtime_ns for path in root.rglob("*.json")}


def test_every_sample_gets_an_image_of_its_size(first_run: tuple[Host, str, str]) -> None:
    host, _, _ = first_run
    for name in NAMES:
        scores = host.scores(name, "MedEBench_sample")
        assert scores["n_answered"] == scores["n_expected"] == N_SAMPLES
        assert host.status(name, "MedEBench_sample")["status"] == "done"
        predictions = host.result(name, "MedEBench_sample")
        rows = predictions.with_name(f"{predictions.stem}_scores.jsonl").read_text().splitlines()
        assert not any("size_differs" in line for line in rows)
        manifest = json.loads(
            predictions.with_name(f"{predictions.stem}_manifest.json").read_text()
        )
        (described,) = manifest["editors"].values()
        assert described["call"]["num_inference_steps"] == 1
        assert described["device"] in ("cpu", "cuda")


def test_a_second_run_edits_nothing(first_run: tuple[Host, str, str]) -> None:
    host, config, said = first_run
    before = {name: host.scores(name, "MedEBench_sample") for name in NAMES}
    remembered = memories(host)
    assert len(remembered) == 2 * N_SAMPLES
    assert "Loading pipeline components" in said
    shutil.rmtree(host.outputs)
    for folder in ("pix2pix", "fill"):
        # Without its checkpoint an editor that wanted to edit could only fail.
        shutil.rmtree(host.folder / folder)
    assert "Loading pipeline components" not in run(host, config)
    assert {name: host.scores(name, "MedEBench_sample") for name in NAMES} == before
    assert memories(host) == remembered
