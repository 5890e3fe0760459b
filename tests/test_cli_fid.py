"""``medbench fid``, from the command line to the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import load_medebench, prepare_medebench
from medbench_vlmeval.evaluation import set_distances
from medbench_vlmeval.features import EXTRACTORS
from medbench_vlmeval.files import sha256_file

from .data.releases import picture, write_official
from .features.networks import save_random_inception

N = 6


def medbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("MEDBENCH_FEATURE_CACHE", str(tmp_path / "features"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))


def scored(tmp_path: Path, images: dict[int, bytes], dataset: str) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for number, data in images.items():
        (folder / f"{number}_0.png").write_bytes(data)
    result = medbench(
        "score", "--data", dataset, "--images", folder, "--name", "Mine", "--judge", "none",
        "--scoring-backend", "serial", "--out", tmp_path / "outputs",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return tmp_path / "outputs" / "Mine"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run so small that only lower bounds let it be measured: networks take their time."""
    for bound in ("LEAST_FOR_KERNEL", "LEAST_FOR_FRECHET"):
        monkeypatch.setattr(set_distances, bound, N)
    prepare_medebench(write_official(tmp_path / "release", range(1, N + 1)), progress=False)
    return scored(tmp_path, {it: picture(it) for it in range(1, N + 1)}, "MedEBench_test")


def test_the_sample_pack_is_too_small_and_one_line_says_so(tmp_path: Path) -> None:
    samples = load_medebench("MedEBench_sample").samples
    images = {it.id: it.previous.read_bytes() for it in samples if it.previous is not None}
    result = medbench("fid", scored(tmp_path, images, "MedEBench_sample"))
    assert result.exit_code == 1
    assert "expected at least 100 images in each set (500 for a Fréchet distance)" in result.output
    assert "n=15 edited and n=15 reference" in result.output
    # The page opens with this very line.
    page = Path(__file__).parents[1] / "docs" / "fid.md"
    assert result.output.strip() in page.read_text(encoding="utf-8").splitlines()


def test_features_that_ship_with_a_package_need_no_file(run: Path) -> None:
    result = medbench("fid", run, "--extractor", "efficientnet_lite0")
    assert result.exit_code == 0, result.output
    assert "Frechet_efficientnet_lite0" in result.output.replace("\n", "")
    assert "FID" not in result.output
    assert "sha256 579344248a93e230" in result.output
    (written,) = run.glob("*_fid.json")
    found = json.loads(written.read_text())
    assert found["edited"]["n"] == N
    frechet = found["distances"][0]["frechet"]
    assert frechet["value"] > 0
    assert (frechet["rank_a"], frechet["flags"]) == (N - 1, ["n<d"])


def test_a_weight_file_of_ones_own(run: Path, tmp_path: Path) -> None:
    weights = save_random_inception(tmp_path / "weights.pth")
    digits = sha256_file(weights)
    result = medbench("fid", run, "--weights", weights, "--weights-sha256", digits, "--json")
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)
    assert found["extractor"]["sha256"] == digits
    assert found["names"]["frechet"] == f"Frechet_inception_{digits[:8]}"
    assert found["distances"][0]["kernel"]["value"] is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "this package downloads nothing"),
        (("--weights", "x.pth", "--weights-sha256", "a" * 64), "no such weight file"),
        (("--reference", "nowhere"), "changed, previous or a folder"),
    ],
    ids=["no weights", "no file", "no reference"],
)
def test_what_is_missing_is_named_in_one_line(
    run: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = medbench("fid", run, *arguments)
    assert (result.exit_code, message in result.output) == (1, True), result.output
    assert "Traceback" not in result.output
    assert not list(run.glob("*_fid.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--weights", "x.pth"), "--weights-sha256 together"),
        (("--weights-sha256", "a" * 64), "--weights-sha256 together"),
        (("--extractor", "vgg"), "'inception', 'efficientnet_lite0'"),
    ],
    ids=["no hash", "no file", "unknown"],
)
def test_options_that_do_not_fit_are_told_before_any_run_is_read(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = medbench("fid", tmp_path, *arguments)
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_the_extractors_of_the_command_are_those_of_the_library() -> None:
    (option,) = [it for it in main.commands["fid"].params if it.name == "extractor"]
    assert tuple(option.type.choices) == EXTRACTORS
