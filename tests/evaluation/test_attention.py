"""From files of attention maps to rows, groups and pictures."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.evaluation.attention import (
    AttentionFiles,
    AttentionResult,
    evaluate_attention,
)
from medbench_vlmeval.evaluation.attention_keys import keys_of, read_keys
from medbench_vlmeval.evaluation.attention_maps import (
    AttentionMaps,
    MapsUnreadable,
    maps_folder,
    read_maps,
    write_maps,
)
from medbench_vlmeval.evaluation.attention_overlay import (
    attention_panels,
    heat_over,
    overlap_over,
)
from medbench_vlmeval.files import append_jsonl, read_jsonl
from medbench_vlmeval.metrics import attention_iou

from ..data.releases import mask, picture, write

Make = Callable[..., MedEBenchData]

# "Remove stain 1." is what the first sample of the made release asks for.
TOKENS = ("<|startoftext|>", "remove</w>", "sta", "in</w>", "1</w>", ".</w>", "<|endoftext|>")


def left(share: float = 0.25, side: int = 64) -> np.ndarray:
    """A map that fires on the left, where the masks of the made release are."""
    values = np.zeros((side, side), np.float32)
    values[:, : round(side * share)] = 1.0
    return values


def maps_of(word_map: np.ndarray, *, tokens: tuple[str, ...] = TOKENS, **given: Any) -> Any:
    others = np.random.default_rng(0).random((len(tokens), *word_map.shape)).astype(np.float32)
    others[0] *= 100.0
    others[2] = word_map
    others[3] = word_map
    return AttentionMaps(others, tokens, **given)


def scored(data: MedEBenchData, folder: Path, **given: Any) -> AttentionResult:
    keys = given.pop("keys", None) or keys_of(data.samples)
    files = AttentionFiles(folder / "M@MedEBench_test.jsonl")
    return evaluate_attention(folder, data, keys, files, **given)


def test_maps_come_back_as_they_were_written(tmp_path: Path) -> None:
    # what a word's attention is like: small, with little contrast
    values = 0.004 + 1e-5 * np.random.default_rng(0).random((3, 64, 64)).astype(np.float32)
    written = AttentionMaps(values, ("a", "b", "c"), (0.5, 1.0), True, "ff", {"seed": 3})
    found = read_maps(write_maps(tmp_path / "1.npz", written))
    np.testing.assert_allclose(found.maps, values, atol=1e-5 * 2e-3)
    assert found.tokens == written.tokens
    assert (found.content_wh, found.truncated) == ((0.5, 1.0), True)
    assert (found.edited_sha256, dict(found.settings)) == ("ff", {"seed": 3})


@pytest.mark.parametrize("value", [0.0, 0.25, np.nan], ids=["zero", "constant", "nan"])
def test_maps_without_contrast_stay_so(tmp_path: Path, value: float) -> None:
    flat = AttentionMaps(np.full((1, 8, 8), value, np.float32), ("a",))
    found = read_maps(write_maps(tmp_path / "1.npz", flat))
    np.testing.assert_array_equal(found.maps, flat.maps)


def test_pieces_are_averaged_and_padding_is_cut_off() -> None:
    values = np.zeros((3, 4, 4), np.float32)
    values[1, 0, 0], values[2, 0, 0] = 1.0, 3.0
    maps = AttentionMaps(values, ("a", "b", "c"), (1.0, 0.5))
    found = maps.mean_of([1, 2])
    assert found.shape == (2, 4)
    assert found[0, 0] == 2.0


def test_a_grey_picture_is_one_map(tmp_path: Path) -> None:
    path = tmp_path / "7.png"
    Image.fromarray((left() * 60000).astype(np.uint16)).save(path)
    found = read_maps(path)
    assert found.tokens == ()
    assert found.maps.shape == (1, 64, 64)
    assert found.maps.max() == 60000


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("1.npz", b"no zip", "1.npz"),
        ("1.npz", b"", "1.npz"),
        ("1.npz", npz(heat=left()), "'maps' or 'map'"),
        ("1.npz", npz(maps=left()), "shape"),
        ("1.npz", npz(maps=left()[None], tokens=["a", "b"]), "2 tokens"),
        ("1.npz", npz(map=np.array([{}], dtype=object)), "1.npz"),
        ("1.npz", npz(map=left(), content_wh=[0.0, 1.0]), "fractions"),
        ("1.png", picture(1), "one channel"),
        ("1.png", b"\x89PNG\r\n\x1a\n broken", "1.png"),
    ],
    ids=["text", "empty", "names", "shape", "tokens", "object", "content", "colour", "broken"],
)
def test_what_is_no_map_is_named(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    write(tmp_path / name, content)
    with pytest.raises(MapsUnreadable, match=words):
        read_maps(tmp_path / name)


def test_files_are_found_by_the_samples_id(tmp_path: Path) -> None:
    for name in ("3.npz", "12.png", "notes.txt", "x1.npz", "maps.json"):
        write(tmp_path / name, b"")
    assert {index: path.name for index, path in maps_folder(tmp_path).items()} == {
        3: "3.npz",
        12: "12.png",
    }
    write(tmp_path / "03.png", b"")
    with pytest.raises(ValueError, match="one file a sample"):
        maps_folder(tmp_path)
    with pytest.raises(NotADirectoryError, match="folder"):
        maps_folder(tmp_path / "absent")


def test_words_are_scored_against_their_rois(make_data: Make, tmp_path: Path) -> None:
    data = make_data(3)
    folder = tmp_path / "maps"
    write_maps(folder / "1.npz", maps_of(left(0.25)))
    write_maps(folder / "2.npz", maps_of(1.0 - left(0.25)))
    write_maps(folder / "3.npz", maps_of(left(0.5)))
    result = scored(data, folder)
    values = [row.scores["attention_iou"].value for row in result.rows]
    assert values == pytest.approx([1.0, 0.0, 0.5], abs=0.02)
    assert [row.scores["pointing"].value for row in result.rows] == pytest.approx(
        [1, 0, 0.5], abs=0.02
    )
    assert all(row.scores["roi_share"].value == 0.25 for row in result.rows)
    expected = attention_iou(left(0.5), np.asarray(Image.open(io.BytesIO(mask()))))
    assert values[2] == pytest.approx(expected, abs=1e-3)
    overall = next(it for it in result.summaries if it.metric == "attention_iou")
    assert overall.value == pytest.approx(np.mean(values))
    assert overall.low is not None
    rows, _ = read_jsonl(folder / "M@MedEBench_test_attention.jsonl")
    assert rows[0]["token"] == "stain"
    assert (rows[0]["token_rule"], rows[0]["positions"]) == ("object", [2, 3])
    assert rows[0]["groups"] == {"organ": "Teeth", "task": "Remove stains."}
    table = (folder / "M@MedEBench_test_attention.csv").read_text(encoding="utf-8")
    assert "organ,Teeth,attention_iou,extra," in table
    settings = json.loads((folder / "M@MedEBench_test_attention_settings.json").read_text())
    assert settings["rule"]["alpha"] == 1.3


@pytest.mark.parametrize(
    ("maps", "word", "status", "note"),
    [
        (maps_of(np.full((8, 8), 0.5, np.float32)), "stain", "data_error", "constant"),
        (maps_of(np.full((8, 8), np.nan, np.float32)), "stain", "data_error", "not finite"),
        (maps_of(left()), "polyp", "data_error", "'polyp' is no word of the prompt"),
        (maps_of(left(), truncated=True), "polyp", "truncated", "7 tokens that the model reads"),
    ],
    ids=["constant", "nan", "no such word", "cut off"],
)
def test_without_a_number_there_is_a_reason(
    make_data: Make, tmp_path: Path, maps: Any, word: str, status: str, note: str
) -> None:
    data = make_data(1)
    write_maps(tmp_path / "maps" / "1.npz", maps)
    result = scored(data, tmp_path / "maps", keys=keys_of(data.samples, {1: word}))
    score = result.rows[0].scores["attention_iou"]
    assert (score.value, str(score.status)) == (None, status)
    assert note in score.note
    assert any(note in line for line in result.notes())
    summary = next(it for it in result.summaries if it.metric == "attention_iou")
    assert (summary.value, summary.n_expected, summary.n_scored) == (None, 1, 0)


def test_missing_damaged_and_failed_ones_are_told_apart(make_data: Make, tmp_path: Path) -> None:
    data = make_data(4, images={3: {"roi": mask(0.0)}})
    folder = tmp_path / "maps"
    write(folder / "1.npz", b"damaged")
    write_maps(folder / "3.npz", maps_of(left()))
    failed = {"index": 4, "status": "refusal", "note": "flagged", "model_fault": True}
    append_jsonl(folder / "edits.jsonl", {"index": 1, "status": "answer", "note": ""})
    append_jsonl(folder / "edits.jsonl", failed)
    scores = [row.scores["attention_iou"] for row in scored(data, folder).rows]
    assert [str(score.status) for score in scores] == [
        "data_error",
        "missing",
        "data_error",
        "refusal",
    ]
    assert [score.model_fault for score in scores] == [False, False, False, True]
    assert "1.npz" in scores[0].note
    assert scores[1].note == "no attention map"
    assert scores[2].note == "the ROI has no pixels"


def test_an_imported_map_needs_no_tokens(make_data: Make, tmp_path: Path) -> None:
    data = make_data(2)
    folder = tmp_path / "maps"
    write(folder / "1.npz", npz(map=left()))
    folder.joinpath("2.png").parent.mkdir(exist_ok=True)
    Image.fromarray((left() * 255).astype(np.uint8)).save(folder / "2.png")
    values = [row.scores["attention_iou"].value for row in scored(data, folder).rows]
    assert values == pytest.approx([1.0, 1.0], abs=0.02)


def test_maps_of_another_image_than_the_runs_are_flagged(make_data: Make, tmp_path: Path) -> None:
    data = make_data(3)
    for number in (1, 2, 3):
        path = tmp_path / "maps" / f"{number}.npz"
        write_maps(path, maps_of(left(), edited_sha256=f"{number}"))
    result = scored(data, tmp_path / "maps", edits={1: "1", 2: "other", 3: None})
    assert [sorted(row.flags) for row in result.rows] == [[], ["other_edit"], []]
    assert "1 maps belong to another image than the run's" in result.notes()
    few = scored(data, tmp_path / "maps", edits={2: None})
    assert [row.sample.id for row in few.rows] == [2]
    with pytest.raises(ValueError, match="other data"):
        scored(data, tmp_path / "maps", edits={2: None, 99: None})


def test_a_picture_is_written_of_each_scored_sample(make_data: Make, tmp_path: Path) -> None:
    data = make_data(2)
    write_maps(tmp_path / "maps" / "1.npz", maps_of(left()))
    write(tmp_path / "maps" / "edited" / "1.png", picture(9, (20, 15)))
    scored(data, tmp_path / "maps", overlays=tmp_path / "over")
    assert [path.name for path in (tmp_path / "over").iterdir()] == ["1.png"]
    with Image.open(tmp_path / "over" / "1.png") as image:
        assert image.size == (4 * 40 + 3 * 8, 30)


def test_the_overlay_is_red_green_and_yellow() -> None:
    base = np.full((40, 40, 3), 100, np.uint8)
    roi = np.zeros((40, 40), np.uint8)
    roi[:20] = 255
    found = overlap_over(base, left(0.5), roi)
    assert found[5, 5].tolist() == [178, 178, 50]
    assert found[5, 35].tolist() == [178, 50, 50]
    assert found[35, 5].tolist() == [50, 178, 50]
    assert found[35, 35].tolist() == [100, 100, 100]


def test_a_map_without_contrast_colours_nothing() -> None:
    base = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    flat, nothing = np.ones((8, 8)), np.zeros((12, 16), np.uint8)
    np.testing.assert_array_equal(heat_over(base, flat), base)
    found = overlap_over(base, flat, nothing)
    assert (found[..., 0] == found[..., 1]).all(), "grey everywhere"
    assert attention_panels(base, None, flat, nothing).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("words.json", '{"1": "tooth", "2": " two words "}'),
        ("words.csv", "index,token\n1,tooth\n2, two words \n"),
        ("words.csv", "\ufeffID,Word\n1,tooth\n2,two words\n"),
    ],
    ids=["json", "csv", "other names"],
)
def test_words_are_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path / name, text.encode("utf-8"))
    assert read_keys(tmp_path / name) == {1: "tooth", 2: "two words"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("w.json", "[1]", "object"),
        ("w.json", "{", "JSON"),
        ("w.json", '{"x": "ear"}', "entry x"),
        ("w.json", '{"1": ""}', "entry 1"),
        ("w.json", '{"1": 2}', "entry 1"),
        ("w.csv", "a,b\n1,ear\n", "columns index and token"),
        ("w.csv", "", "columns index and token"),
        ("w.csv", "index,token\n1,ear\n1,nose\n", "line 3.*each id once"),
        ("w.csv", "index,token\n1\n", "line 2"),
    ],
)
def test_what_is_no_word_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    write(tmp_path / name, text.encode("utf-8"))
    with pytest.raises(ValueError, match=words) as caught:
        read_keys(tmp_path / name)
    assert name in str(caught.value)


def test_given_words_take_the_place_of_the_rules(make_data: Make) -> None:
    data = make_data(2)
    keys = keys_of(data.samples, {2: "tooth"})
    assert [(keys[it].word, keys[it].rule) for it in (1, 2)] == [
        ("stain", "object"),
        ("tooth", "given"),
    ]
    with pytest.raises(ValueError, match=r"\[77\]"):
        keys_of(data.samples, {77: "ear"})
