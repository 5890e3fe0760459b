"""Answers to MedQ-Bench without a model, asked in one process of the real host."""

from __future__ import annotations

import base64
import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.data import load_medq, prepare_medq
from medbench_vlmeval.parsing import is_api_failure

pytestmark = pytest.mark.host

PROMPT = "Look.\n\nHow is the quality?\n\nOptions:\nA. Good\nB. Usable\nC. Reject\n\nLetter only."


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from medbench_vlmeval.models import medq_baselines

    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    medq_baselines._letters_of_dev.cache_clear()
    medq_baselines._rates_of_dev.cache_clear()
    return tmp_path / "LMUData"


def answer(name: str, prompt: str, *images: Path) -> str:
    from vlmeval.config import supported_VLM

    message = [{"type": "image", "value": str(path)} for path in images]
    return supported_VLM[name]().generate([*message, {"type": "text", "value": prompt}])


def picture(folder: Path, name: str = "1.png", noise: float = 0.0) -> Path:
    generator = np.random.default_rng(0)
    grey = np.kron(generator.integers(40, 215, (16, 16)), np.ones((12, 12)))
    noisy = np.clip(grey + generator.normal(0, noise, grey.shape), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(folder / name)
    return folder / name


def prepare_dev(tmp_path: Path, answers: list[tuple[list[str], str]]) -> None:
    image = base64.b64encode(picture(tmp_path).read_bytes()).decode()
    with (tmp_path / "medqbench_QA_dev.tsv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(["index", "image", "question", "A", "B", "C", "answer"])
        for index, (options, letter) in enumerate(answers):
            texts = [*options, "", ""][:3]
            writer.writerow([index, image, "What is it?", *texts, letter])
    prepare_medq(tmp_path / "medqbench_QA_dev.tsv", name="MedQ_MCQ_dev", progress=False)


def test_the_first_option_is_the_first_option(tmp_path: Path) -> None:
    assert answer("Baseline-FirstOption", PROMPT, picture(tmp_path)) == "A"


def test_the_majority_letter_is_counted_for_as_many_options(tmp_path: Path) -> None:
    prepare_dev(
        tmp_path,
        [(["x", "y", "z"], "C"), (["x", "y", "z"], "C"), (["x", "y"], "B"), (["x", "y"], "B")],
    )
    assert answer("Baseline-MajorityLetter", PROMPT, picture(tmp_path)) == "C"
    two = "Is it?\n\nOptions:\nA. Yes\nB. No\n"
    assert answer("Baseline-MajorityLetter", two, picture(tmp_path)) == "B"


def test_the_prior_is_about_texts_and_not_letters(tmp_path: Path) -> None:
    prepare_dev(
        tmp_path,
        [(["Usable.", "Good"], "A"), (["good", "usable"], "B"), (["Good", "Reject"], "B")],
    )
    assert answer("Baseline-QuestionPrior", PROMPT, picture(tmp_path)) == "B"


@pytest.mark.parametrize("name", ["Baseline-MajorityLetter", "Baseline-QuestionPrior"])
def test_what_learns_from_the_dev_split_needs_it(name: str, tmp_path: Path) -> None:
    reply = answer(name, PROMPT, picture(tmp_path))
    assert is_api_failure(reply)
    assert "MedQ_MCQ_dev" in reply


def test_noise_lowers_the_grade(tmp_path: Path) -> None:
    grades = {
        noise: answer("Baseline-ImageStatistics", PROMPT, picture(tmp_path, noise=noise))
        for noise in (0.0, 60.0)
    }
    assert grades[0.0] != "C"
    assert grades[60.0] == "C"


def test_a_comparison_names_the_better_image(tmp_path: Path) -> None:
    clean, noisy = picture(tmp_path, "1.png"), picture(tmp_path, "2.png", noise=40)
    reply = answer("Baseline-ImageStatistics", "Compare.", noisy, clean)
    assert reply == "Overall, the second image is of higher quality."
    reply = answer("Baseline-ImageStatistics", "Describe.", noisy)
    assert reply.startswith("Overall, the quality of this image is ")


def test_the_statistics_beat_chance_on_the_pairs_of_the_pack() -> None:
    from medbench_vlmeval.parsing import read_preferred_image

    samples = load_medq("MedQ_Paired_sample").samples
    hits = [
        read_preferred_image(
            answer("Baseline-ImageStatistics", "Compare.", *filter(None, sample.images))
        ).image
        == read_preferred_image(sample.description).image
        for sample in samples
    ]
    assert sum(hits) > len(hits) / 2


@pytest.mark.parametrize(
    "images",
    [(), ("none.png",), ("text.png",), ("point.png",)],
    ids=["none", "absent", "no image", "too small"],
)
def test_whatever_goes_wrong_is_a_counted_failure(images: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no image", encoding="utf-8")
    Image.new("RGB", (1, 1)).save(tmp_path / "point.png")
    paths = [tmp_path / name for name in images]
    assert is_api_failure(answer("Baseline-ImageStatistics", PROMPT, *paths) or "")


def test_a_prompt_without_options_has_no_first_one(tmp_path: Path) -> None:
    reply: Any = answer("Baseline-FirstOption", "Describe the image.", picture(tmp_path))
    assert "expected a prompt with options" in reply
