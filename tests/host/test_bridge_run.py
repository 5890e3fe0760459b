"""A bridged model through the real host: killed half-way, resumed, and scored."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .fake_checkouts import write_worker
from .running import HOSTS, Host, write_config
from .test_bridge import is_running, wait_until

pytestmark = pytest.mark.host

N_SAMPLES = 15


def config(host: Host, **arguments: Any) -> str:
    """A configuration with one bridged model on the sample pack."""
    notes = host.folder / "notes"
    notes.mkdir(exist_ok=True)
    settings = {"notes": str(notes), **arguments.pop("settings", {})}
    model = {
        "class": "BridgedEditor",
        "name": "Mine",
        "python": sys.executable,
        "worker": str(write_worker(host.folder / "checkout")),
        "settings": settings,
        **arguments,
    }
    datasets = {"MedEBench_sample": {"class": "MedEBench", "dataset": "MedEBench_sample"}}
    return write_config(host.folder / "bridge.json", {"Mine": model}, datasets)


def notes(host: Host, name: str) -> list[str]:
    path = host.folder / "notes" / name
    return path.read_text().splitlines() if path.exists() else []


def n_remembered(host: Host) -> int:
    return len(list((host.folder / "LMUData").rglob("memo/*/*.json")))


@pytest.mark.parametrize("name", HOSTS)
def test_a_killed_run_goes_on_where_it_was(name: str, tmp_path: Path) -> None:
    host = Host(name, tmp_path)
    arguments = ("--config", config(host, settings={"sleep": 0.4}))
    process = host.start(*arguments, "--mode", "all")
    try:
        assert wait_until(lambda: n_remembered(host) >= 4, 120)
    finally:
        process.kill()
        process.wait()
    (worker,) = map(int, notes(host, "starts"))
    assert wait_until(lambda: not is_running(worker), 5)
    done, asked = n_remembered(host), len(notes(host, "edits"))
    assert asked - done in (0, 1)
    host.run(*arguments, "--mode", "all", "--reuse")
    assert len(notes(host, "edits")) - asked == N_SAMPLES - done
    scores = host.scores("Mine", "MedEBench_sample")
    assert scores["n_answered"] == scores["n_expected"] == N_SAMPLES
    assert not any(is_running(int(pid)) for pid in notes(host, "starts"))
    predictions = host.result("Mine", "MedEBench_sample")
    manifest = json.loads(predictions.with_name(f"{predictions.stem}_manifest.json").read_text())
    hellos = [editor["hello"]["worker"] for editor in manifest["editors"].values()]
    assert set(hellos) == {"Obedient"}


def test_full_batches_in_one_model_and_no_set_up_in_the_next(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    path = Path(config(host, settings={"batching": True}, batch_size=4))
    both = json.loads(path.read_text())
    both["model"]["SEED-X"] = {"class": "SeedXEditor", "name": "SEED-X"}
    path.write_text(json.dumps(both))
    host.run("--config", str(path), "--mode", "infer", PRED_FORMAT="tsv")
    assert notes(host, "batches") == ["4", "4", "4", "3"]
    assert n_remembered(host) == N_SAMPLES
    lines = host.result("SEED-X", "MedEBench_sample").read_text()
    assert lines.count("Failed to obtain answer via API.") == N_SAMPLES
    variables = "set MEDBENCH_SEEDX_PYTHON and MEDBENCH_SEEDX_CHECKOUT"
    assert lines.count(variables) == N_SAMPLES
    assert lines.count("docs/bridge.md") == N_SAMPLES


def test_threads_of_the_host_share_a_worker_that_variables_name(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    worker = write_worker(tmp_path / "checkout")
    parts = {"MEDBENCH_BRIDGED_PYTHON": sys.executable, "MEDBENCH_BRIDGED_WORKER": str(worker)}
    arguments = ("--data", "MedEBench_sample", "--model", "Bridged", "--api-mode")
    host.run(*arguments, "--mode", "infer", **parts)
    assert len((worker.parent / "starts").read_text().splitlines()) == 1
    assert len((worker.parent / "edits").read_text().splitlines()) == N_SAMPLES
    assert n_remembered(host) == N_SAMPLES
