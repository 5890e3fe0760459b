from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, get_args

import pytest

import medbench_vlmeval.conventions as conventions
from medbench_vlmeval.conventions import convention_for, families, would_fit_better
from medbench_vlmeval.parsing import CoordinateConvention, read_box
from tests.shared import shared_path

REGISTRY = json.loads(Path(conventions.__file__).with_suffix(".json").read_text("utf-8"))
QWEN_SUFFIX = (
    "Format: <|box_start|>(x1,y1),(x2,y2)<|box_start|>. Strictly follow this format. "
    "Output only the coordinates. No additional text or explanation."
)
LIST_SUFFIX = " Format:<box>[x1, y1, x2, y2]</box>. Don't generate addtional words."


@pytest.mark.parametrize(
    ("model", "family", "name", "parser"),
    [
        ("Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL", "absolute", "pixel"),
        ("Qwen/Qwen2.5-VL-72B-Instruct-AWQ", "Qwen2.5-VL", "absolute", "pixel"),
        ("qwen2_5_vl", "Qwen2.5-VL", "absolute", "pixel"),
        ("Qwen3-VL-8B-Instruct", "Qwen3-VL", "norm1000", "scaled"),
        ("MedSeq-Grounder", "MedSeq-Grounder", "absolute", "pixel"),
        ("Migician", "Migician", "norm1000", "scaled"),
        ("Qwen2-VL-7B-Instruct", "Qwen2-VL", "norm1000", "scaled"),
        ("InternVL2-8B", "InternVL", "norm1000", "scaled"),
        ("InternVL2_5-8B-MPO", "InternVL", "norm1000", "scaled"),
        ("OpenGVLab/InternVL3-78B", "InternVL", "norm1000", "scaled"),
        ("Mantis-8B-Idefics2", "Mantis", "norm1", "scaled"),
        ("MiniCPM-V-2_6", "MiniCPM-V", "norm1000", "scaled"),
        ("MiniCPM-Llama3-V-2_5", "MiniCPM-V", "norm1000", "scaled"),
        ("GeminiPro2-5", "Gemini", "yxyx1000", None),
        ("gemini-2.5-pro", "Gemini", "yxyx1000", None),
    ],
)
def test_model_name_declares_the_convention(
    model: str, family: str, name: str, parser: str | None
) -> None:
    convention = convention_for(model)
    assert (convention.family, convention.name) == (family, name)
    assert convention.source == "model"
    assert convention.official_parser == parser
    assert convention.cited


@pytest.mark.parametrize(
    "model", ["GPT4o", "Claude4_Sonnet", "MiniCPM-o-2_6", "medgemma-4b-it", "Qwen2.5-7B", "x", ""]
)
def test_unknown_model_is_asked_in_the_prompt(model: str) -> None:
    convention = convention_for(model)
    assert convention.source == "prompt"
    assert convention.family is None
    assert convention.prompt_suffix == REGISTRY["stated"][convention.name]["prompt_suffix"]


@pytest.mark.parametrize(
    "model", ["llava-onevision-qwen2-7b-ov-hf", "llava_onevision", "mPLUG-Owl3"]
)
def test_family_without_a_stated_range_is_asked_in_the_prompt(model: str) -> None:
    convention = convention_for(model)
    assert convention.source == "prompt"
    assert convention.family in ("LLaVA-OneVision", "mPLUG-Owl3")
    assert "0 to 1000" in convention.prompt_suffix


@pytest.mark.parametrize("name", get_args(CoordinateConvention))
@pytest.mark.parametrize("model", ["GPT4o", "Qwen2.5-VL-7B-Instruct", "gemini-2.5-pro"])
def test_explicit_convention_outweighs_the_name(model: str, name: str) -> None:
    convention = convention_for(model, explicit=name)
    assert (convention.name, convention.source) == (name, "explicit")
    own = convention_for(model)
    if own.name == name and own.source == "model":
        assert convention.prompt_suffix == own.prompt_suffix
    else:
        assert convention.prompt_suffix == REGISTRY["stated"][name]["prompt_suffix"]


def test_explicit_family_lends_its_prompt_to_another_name() -> None:
    convention = convention_for("my-finetune", explicit="qwen2.5-vl")
    assert (convention.name, convention.source) == ("absolute", "explicit")
    assert convention.prompt_suffix == QWEN_SUFFIX
    assert convention.official_parser == "pixel"


def test_unknown_explicit_convention_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"absolute.*Migician.*got 'pixels'"):
        convention_for("GPT4o", explicit="pixels")


@pytest.mark.parametrize(
    ("family", "suffix"),
    [
        ("Qwen2.5-VL", QWEN_SUFFIX),
        ("MedSeq-Grounder", QWEN_SUFFIX),
        ("Migician", QWEN_SUFFIX),
        ("Qwen2-VL", QWEN_SUFFIX),
        ("InternVL", "Format:<box>[[x1,y1,x2,y2]]</box>. Don't generate addtional words."),
        ("Mantis", LIST_SUFFIX),
        ("LLaVA-OneVision", LIST_SUFFIX),
        ("mPLUG-Owl3", LIST_SUFFIX),
        ("MiniCPM-V", "Format:<box>x1 y1 x2 y2</box>. Don't generate addtional words."),
    ],
)
def test_published_suffixes_are_kept_to_the_byte(family: str, suffix: str) -> None:
    [entry] = [it for it in families() if it["family"] == family]
    assert entry["prompt_suffix"] == suffix


def test_registry_agrees_with_the_recorded_script() -> None:
    recorded = json.loads(shared_path("data/medsg_metric.json").read_text("utf-8"))["families"]
    suffixes = {it["suffix"] for it in recorded if "Format" in it.get("suffix", "")}
    ours = {it["prompt_suffix"] for it in families() if it["source"].startswith("released")}
    assert ours == suffixes


@pytest.mark.parametrize("entry", families(), ids=lambda entry: entry["family"])
def test_every_entry_is_complete_and_cited(entry: dict[str, Any]) -> None:
    assert set(entry) == {
        "family", "models", "coordinates", "official_parser", "prompt_suffix",
        "reference_box_form", "keeps_tokens", "image_layout", "samples", "source",
    }  # fmt: skip
    assert entry["coordinates"] in (None, *get_args(CoordinateConvention))
    assert entry["reference_box_form"] in ("removed", *get_args(CoordinateConvention))
    assert entry["official_parser"] in (None, "pixel", "scaled")
    assert entry["source"]
    assert re.compile(entry["models"])


def test_perfect_answers_in_every_convention_come_back() -> None:
    truth, size = (64.0, 48.0, 320.0, 240.0), (640, 480)
    written = {
        "absolute": "[64, 48, 320, 240]",
        "norm1000": "[100, 100, 500, 500]",
        "norm1": "[0.1, 0.1, 0.5, 0.5]",
        "yxyx1000": "[100, 100, 500, 500]",
    }
    for name in get_args(CoordinateConvention):
        convention = convention_for("GPT4o", explicit=name)
        assert read_box(written[name], convention=convention.name, size_wh=size).box == truth


def rows(convention: str, n: int = 60) -> tuple[list[str], list[list[int]]]:
    """Perfect replies in a convention for boxes in images of 500 x 500."""
    generator = random.Random(5)
    truths = []
    for _ in range(n):
        x, y = generator.randrange(0, 300), generator.randrange(0, 300)
        truths.append([x, y, x + generator.randrange(40, 200), y + generator.randrange(40, 200)])
    factor = {"absolute": 1, "norm1000": 2, "norm1": 1 / 500, "yxyx1000": 2}[convention]
    order = (1, 0, 3, 2) if convention == "yxyx1000" else (0, 1, 2, 3)
    replies = [str([truth[place] * factor for place in order]) for truth in truths]
    return replies, truths


@pytest.mark.parametrize("written", get_args(CoordinateConvention))
@pytest.mark.parametrize("declared", get_args(CoordinateConvention))
def test_probe_names_the_convention_that_was_written(written: Any, declared: Any) -> None:
    replies, truths = rows(written)
    found = would_fit_better(replies, truths, declared=declared, sizes_wh=[(500, 500)] * 60)
    if written == declared:
        assert found is None
    else:
        assert found is not None
        assert found.other == written
        assert found.other_iou == pytest.approx(1)
        assert f"Scores keep {declared}" in str(found)


def test_probe_knows_the_size_as_sent() -> None:
    _, truths = rows("absolute")
    replies = [str([3 * number for number in truth]) for truth in truths]
    sizes = [(500, 500)] * 60
    sent = [(1500, 1500)] * 60
    assert would_fit_better(replies, truths, declared="absolute", sizes_wh=sizes,
                            sent_sizes_wh=sent) is None  # fmt: skip


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param(["I cannot tell."] * 60, id="no_boxes"),
        pytest.param([""] * 60, id="missing"),
        pytest.param(["[0, 0, 1, 1]"] * 19 + [""] * 41, id="too_few"),
    ],
)
def test_probe_says_nothing_on_thin_evidence(replies: list[str]) -> None:
    truths = [[0, 0, 500, 500]] * 60
    sizes = [(500, 500)] * 60
    assert would_fit_better(replies, truths, declared="norm1000", sizes_wh=sizes) is None


def test_probe_looks_at_a_share_of_many_replies() -> None:
    replies, truths = rows("norm1000", n=3000)
    found = would_fit_better(replies, truths, declared="norm1", sizes_wh=[(500, 500)] * 3000)
    assert found is not None
    assert found.n_rows == 1000


def test_probe_refuses_lists_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="as many truths and sizes"):
        would_fit_better(["[1,2,3,4]"], [], declared="absolute", sizes_wh=[(1, 1)])


def test_one_line_adds_a_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        '{"family": "MyNet", "models": "^mynet", "coordinates": "norm1"}',
        "",
        '{"family": "Tuned", "models": "qwen2.5-vl.*-tuned", "coordinates": "norm1000", '
        '"prompt_suffix": " Box:", "reference_box_form": "removed"}',
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("MEDBENCH_CONVENTIONS", str(tmp_path / "own.jsonl"))
    mine = convention_for("MyNet-7B")
    assert (mine.family, mine.name, mine.source) == ("MyNet", "norm1", "model")
    assert mine.prompt_suffix == REGISTRY["stated"]["norm1"]["prompt_suffix"]
    assert (mine.official_parser, mine.reference_box_form) == ("scaled", "norm1")
    assert "own.jsonl, line 1" in mine.cited
    tuned = convention_for("Qwen2.5-VL-7B-tuned")
    assert (tuned.family, tuned.prompt_suffix, tuned.reference_box_form) == (
        "Tuned",
        " Box:",
        "removed",
    )
    assert convention_for("Qwen2.5-VL-7B-Instruct").family == "Qwen2.5-VL"
    assert convention_for("", explicit="tuned").name == "norm1000"


@pytest.mark.parametrize(
    "line",
    [
        "MyNet",
        "[1]",
        '{"family": "MyNet", "coordinates": "norm1"}',
        '{"family": "MyNet", "models": "(", "coordinates": "norm1"}',
        '{"family": "MyNet", "models": "^m", "coordinates": "pixels"}',
        '{"family": "MyNet", "models": "^m", "coordinates": "norm1", "reference_box_form": "x"}',
        '{"family": 7, "models": "^m", "coordinates": "norm1"}',
    ],
)
def test_a_line_that_is_no_family_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "own.jsonl").write_text(f"\n{line}\n", encoding="utf-8")
    monkeypatch.setenv("MEDBENCH_CONVENTIONS", str(tmp_path / "own.jsonl"))
    with pytest.raises(ValueError, match=r"own\.jsonl, line 2: expected"):
        convention_for("x")


def test_a_file_of_families_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDBENCH_CONVENTIONS", str(tmp_path / "none.jsonl"))
    with pytest.raises(FileNotFoundError, match="MEDBENCH_CONVENTIONS"):
        families()
