"""``medbench attention`` on editors with tiny random weights, up to scores and quadrants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import load_medebench, prepare_medebench
from medbench_vlmeval.evaluation.attention_maps import read_maps
from medbench_vlmeval.files import read_jsonl, sha256_file, write_json_atomic

from ..data.releases import write_official
from ..shared import shared_cases
from .tiny_pipelines import (
    quiet_torch,
    save_flux_kontext,
    save_image_to_image,
    save_imagic,
    save_instruct_pix2pix,
)

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

CALL = {"num_inference_steps": 2}
CASES = {case.id: case for case in shared_cases("attention.jsonl")}
INSTRUCTIONS = {1: "Cut mole.", 2: "Fix the ear near the very long white hair.", 3: "Cut cyst."}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_torch()
    folder = tmp_path_factory.mktemp("checkpoints")
    save_instruct_pix2pix(folder / "pix2pix")
    save_image_to_image(folder / "stable")
    save_flux_kontext(folder / "kontext")
    save_imagic(folder / "imagic")
    return folder


@pytest.fixture(autouse=True)
def config(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three prepared samples, and a configuration of models."""
    monkeypatch.setenv("MEDBENCH_VLMEVAL_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    (tmp_path / "LMUData").mkdir()
    rows = {number: {"prompt": prompt} for number, prompt in INSTRUCTIONS.items()}
    prepare_medebench(write_official(tmp_path / "release", INSTRUCTIONS, rows=rows), progress=False)
    diffusers = {"class": "DiffusersEditor", "name": "Tiny", "call": CALL}
    models: dict[str, dict[str, Any]] = {
        "Tiny": {
            **diffusers,
            "entry": "InstructPix2Pix",
            "checkpoint": str(checkpoints / "pix2pix"),
            "load": {"token": "hf_secretsecretsecret", **{"safety_checker": None}},
        },
        "Flux": {**diffusers, "entry": "FLUX.1-Kontext-dev", "checkpoint": "nowhere/at-all"},
        "Imagic": {
            "class": "Imagic",
            "checkpoint": str(checkpoints / "stable"),
            "custom_pipeline": str(checkpoints / "imagic" / "pipeline.py"),
            "side": 64,
            "call": CALL,
        },
        "Copy": {"class": "CopyInput"},
        "Lost": {**diffusers, "entry": "InstructPix2Pix", "checkpoint": str(checkpoints)},
    }
    return write_json_atomic(tmp_path / "config.json", {"model": models, "data": {}})


def medbench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def watch(config: Path, out: Path, *more: str | Path, model: str = "Tiny") -> Result:
    given = ("--model", model, "--data", "MedEBench_test", "--config", config, "--out", out)
    return medbench("attention", *given, *more)


def test_maps_of_the_same_edits_as_a_run_are_recorded_and_scored(
    config: Path, tmp_path: Path
) -> None:
    from medbench_vlmeval.editing import read_edit_reply
    from medbench_vlmeval.models.diffusers_editor import DiffusersEditor

    out = tmp_path / "maps"
    done = watch(config, out)
    assert done.exit_code == 0, done.output
    assert "3 maps in" in done.output
    assert f"next: medbench attention-score {out}" in done.output
    maps = read_maps(out / "1.npz")
    assert maps.tokens[1:5] == ("c", "u", "t</w>", "m")
    assert maps.maps.shape == (len(maps.tokens), 64, 64)
    assert maps.settings["branch_checked"]
    assert maps.content_wh == (1.0, 1.0)

    arguments = json.loads(config.read_text(encoding="utf-8"))["model"]["Tiny"]
    arguments.pop("class")
    sample = load_medebench().samples[0]
    message = [
        {"type": "image", "value": str(sample.previous)},
        {"type": "text", "value": sample.instruction},
    ]
    plain = read_edit_reply(DiffusersEditor(**arguments).generate(message))
    assert plain.stored is not None
    assert plain.stored.sha256 == maps.edited_sha256 == sha256_file(out / "edited" / "1.png")

    scored = medbench("attention-score", out, "--data", "MedEBench_test", "--name", "Tiny")
    assert scored.exit_code == 0, scored.output
    rows, _ = read_jsonl(out / "Tiny@MedEBench_test_attention.jsonl")
    assert [row["token"] for row in rows] == ["mole", "ear", "cyst"]
    assert rows[0]["positions"] == [4, 5, 6, 7]
    assert all(0 <= row["scores"]["attention_iou"]["value"] <= 1 for row in rows)
    assert "truncated" in rows[1]["flags"], "this text encoder reads 32 letters"
    written = "".join(it.read_text(errors="replace") for it in out.iterdir() if it.is_file())
    assert "hf_secret" not in written + done.output


def test_a_word_beyond_what_the_model_reads_has_no_number(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "maps"
    watch(config, out, "--limit", "2")
    words = write_json_atomic(tmp_path / "words.json", {"2": "hair", "1": "cut"})
    scored = medbench(
        "attention-score", out, "--data", "MedEBench_test", "--name", "T", "--tokens", words
    )
    assert "'hair' is not among the 32 tokens that the model reads" in scored.output
    rows, _ = read_jsonl(out / "T@MedEBench_test_attention.jsonl")
    assert [row["scores"]["attention_iou"]["status"] for row in rows] == [
        "answer",
        "truncated",
        "missing",
    ]
    assert [row["token_rule"] for row in rows] == ["given", "given", "object"]


def test_a_stopped_command_goes_on_and_other_settings_need_another_folder(
    config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "maps"
    assert "1 maps in" in watch(config, out, "--limit", "1").output
    first = sha256_file(out / "1.npz")
    assert "2 maps in" in (again := watch(config, out)).output, again.output
    assert "1 were there" in again.output
    assert sha256_file(out / "1.npz") == first
    other = watch(config, out, "--square")
    assert other.exit_code == 1
    assert "square differ" in other.output


def test_pictures_are_squashed_as_published_when_asked(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "maps"
    done = watch(config, out, "--square", "--limit", "1")
    assert done.exit_code == 0, done.output
    with Image.open(out / "edited" / "1.png") as image:
        assert image.size == (512, 512)


def test_imagic_is_watched_while_it_edits_and_not_while_it_trains(
    config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "maps"
    done = watch(config, out, "--limit", "1", model="Imagic")
    assert done.exit_code == 0, done.output
    maps = read_maps(out / "1.npz")
    # two steps of editing in four layers; two plus two steps of training are not among them
    assert (maps.settings["steps"], maps.settings["maps"]) == (2, 8)
    # the picture of 40 x 30 lies at the top left of the square
    assert maps.content_wh == (40 / 64, 30 / 64)
    assert np.isfinite(maps.maps).all()


@pytest.mark.parametrize("case", [CASES.get("B91b", CASES.get("absent"))])
def test_a_transformer_says_so_before_its_weights_are_looked_for(
    case: dict[str, Any], config: Path, tmp_path: Path
) -> None:
    done = watch(config, tmp_path / "maps", model="Flux")
    assert done.exit_code == 1
    assert case["required"]["message"] in done.output
    assert case["required"]["iou"] is None
    assert not list((tmp_path / "maps").glob("*.npz"))


def test_an_editor_that_is_no_pipeline_says_so(config: Path, tmp_path: Path) -> None:
    done = watch(config, tmp_path / "maps", model="Copy")
    assert done.exit_code == 1
    assert "Copy: model has no cross-attention maps" in done.output


def test_weights_that_cannot_be_had_stop_the_command(config: Path, tmp_path: Path) -> None:
    done = watch(config, tmp_path / "maps", model="Lost")
    assert done.exit_code == 1
    assert "expected a folder with model_index.json" in done.output
    assert not (tmp_path / "maps" / "edits.jsonl").exists(), "no sample was tried"


def test_an_edit_without_image_is_recorded_as_such(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models import diffusers_editor
    from medbench_vlmeval.models.base import declined

    out = tmp_path / "maps"
    monkeypatch.setattr(diffusers_editor, "pictures", lambda *_: [declined("not that")])
    done = watch(config, out, "--limit", "1")
    assert "0 maps in" in done.output
    assert "sample 1: not that" in done.output
    scored = medbench("attention-score", out, "--data", "MedEBench_test", "--name", "T")
    assert "1 without IoU: not that" in scored.output
    line, _ = read_jsonl(out / "edits.jsonl")
    assert (line[0]["status"], line[0]["model_fault"]) == ("refusal", True)


def test_an_unknown_branch_stops_the_command(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models import attention_branches

    monkeypatch.setattr(attention_branches, "CONDITIONAL", {3: 1})
    done = watch(config, tmp_path / "maps")
    assert done.exit_code == 1
    assert "one conditional part in a batch of 3" in done.output
    assert not list((tmp_path / "maps").glob("*.npz"))


@pytest.mark.parametrize("case", [CASES.get("B91a", CASES.get("absent"))])
def test_maps_of_all_shapes_are_resized_before_their_mean(case: dict[str, Any]) -> None:
    import torch

    from medbench_vlmeval.models.attention_branches import CONDITIONAL
    from medbench_vlmeval.models.attention_layers import MapMean

    assert case["required"]["branch_chosen_by"].startswith("count of the first axis")
    assert case["required"]["resized_before_mean"]
    generator = torch.Generator().manual_seed(0)
    mean, expected = MapMean(), []
    for described in case["maps"]:
        probabilities = torch.rand(described["shape"], generator=generator)
        chosen = probabilities[CONDITIONAL[len(probabilities)]].mean(0).permute(2, 0, 1)
        mean.add(chosen)
        resized = torch.nn.functional.interpolate(chosen[None], (64, 64), mode="bilinear")
        expected.append(resized[0].numpy())
    assert mean.mean.shape == (77, *case["required"]["result_shape"])
    np.testing.assert_allclose(mean.mean, np.mean(expected, axis=0), rtol=1e-5)


def test_a_judged_run_is_joined_to_quadrants(config: Path, tmp_path: Path) -> None:
    """The run's EA is written by hand: no judge is at hand, and none is needed here."""
    out = tmp_path / "maps"
    watch(config, out)
    images = out / "edited"
    scored = medbench(
        "score", "--data", "MedEBench_test", "--images", images, "--name", "Tiny",
        "--judge", "none", "--out", tmp_path / "outputs",
    )  # fmt: skip
    assert scored.exit_code == 0, scored.output
    run = tmp_path / "outputs" / "Tiny" / "Tiny@MedEBench_test_scores.jsonl"
    rows, _ = read_jsonl(run)
    for row, accuracy in zip(rows, (0.9, 0.1, 0.2), strict=True):
        row["scores"]["EA"] = {"value": accuracy, "status": "answer"}
    run.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    joined = medbench("attention-score", out, "--data", "MedEBench_test", "--run", run)
    assert joined.exit_code == 0, joined.output
    assert run.with_name("Tiny@MedEBench_test_attention.jsonl").is_file()
    assert "another image" not in joined.output
    table, plot = tmp_path / "quadrants.csv", tmp_path / "quadrants.svg"
    found = medbench("attention-quadrants", run, "--csv", table, "--plot", plot, "--iou", "0.01")
    assert found.exit_code == 0, found.output
    assert "Tiny" in found.output
    assert "left out" not in found.output
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + 3
    assert plot.read_bytes().startswith(b"<?xml")
    wrong = medbench("attention-quadrants", run, "--plot", tmp_path / "q.pdf")
    assert wrong.exit_code == 2


def test_a_sample_without_instruction_does_not_stop_the_others(
    config: Path, tmp_path: Path
) -> None:
    rows = {1: {"prompt": " "}}
    source = write_official(tmp_path / "other", [1, 2], rows=rows)
    prepare_medebench(source, progress=False, replace=True)
    done = watch(config, tmp_path / "maps")
    assert done.exit_code == 0, done.output
    assert "1 maps in" in done.output
    assert "sample 1: instruction missing" in done.output
