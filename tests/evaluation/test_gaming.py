from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.data import MedEBenchData, MedEBenchSample
from medbench_vlmeval.evaluation.gaming import gaming_warnings
from medbench_vlmeval.evaluation.medebench import MedEBenchResult, evaluate_medebench
from medbench_vlmeval.evaluation.options import EvaluationOptions, judge_settings
from medbench_vlmeval.evaluation.report_text import shown_result
from medbench_vlmeval.images import read_rgb, read_roi
from medbench_vlmeval.types import Summary

from ..data.releases import encoded
from ..judging.server import Answer, JudgeServer
from .conftest import Predict

MakeData = Callable[..., MedEBenchData]
Edit = Callable[[MedEBenchSample], np.ndarray]
SIGNS = ("no_edit", "edit_elsewhere", "copied_reference")


def pixels(path: Path | None) -> np.ndarray:
    assert path is not None
    return read_rgb(path).pixels


def inside(sample: MedEBenchSample) -> np.ndarray:
    assert sample.roi is not None
    return (read_roi(sample.roi).values > 0)[..., None]


def with_references_that_change_the_roi_only(data: MedEBenchData) -> MedEBenchData:
    for sample in data.samples:
        previous = pixels(sample.previous)
        changed = np.where(inside(sample), previous ^ 0x60, previous)
        assert sample.reference is not None
        sample.reference.write_bytes(encoded(changed))
    return data


def does_nothing(sample: MedEBenchSample) -> np.ndarray:
    return pixels(sample.previous)


def pastes_the_reference(sample: MedEBenchSample) -> np.ndarray:
    return pixels(sample.reference)


def edits_the_rest(sample: MedEBenchSample) -> np.ndarray:
    previous = pixels(sample.previous)
    return np.where(inside(sample), previous, 255 - previous)


def edits_honestly(sample: MedEBenchSample) -> np.ndarray:
    previous, reference = pixels(sample.previous), pixels(sample.reference)
    halfway = ((previous.astype(int) + reference) // 2).astype(np.uint8)
    return np.where(inside(sample), halfway, previous)


def results(
    data: MedEBenchData, predict: Predict, edit: Edit, server: JudgeServer | None = None
) -> MedEBenchResult:
    path = predict({sample.id: encoded(edit(sample)) for sample in data.samples})
    if server is None:
        return evaluate_medebench([path], data)[0]
    arguments = {"model": "judge", "api_base": server.base_url, "nproc": 2, "retry": 1}
    options, rest = EvaluationOptions.from_host(arguments)
    return evaluate_medebench(
        [path], data, judge_settings=judge_settings(rest, {}), options=options
    )[0]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (does_nothing, {"no_edit"}),
        (pastes_the_reference, {"copied_reference"}),
        (edits_the_rest, {"no_edit", "edit_elsewhere"}),
        (edits_honestly, set()),
    ],
)
def test_who_cheats_is_named_and_who_edits_is_not(
    edit: Edit, expected: set[str], make_data: MakeData, predict: Predict
) -> None:
    data = with_references_that_change_the_roi_only(make_data(3))
    result = results(data, predict, edit)
    assert {name for name in SIGNS if result.flat[name] == 1.0} == expected
    assert {name for name in SIGNS if result.flat[name] == 0.0} == set(SIGNS) - expected
    assert {line.split(" ")[0] for line in result.gaming} == expected
    manifest = json.loads(result.files.manifest.read_text(encoding="utf-8"))
    assert manifest["gaming"] == list(result.gaming)
    text = shown_result(result, "MedEBench_test")
    assert all(line in text for line in result.gaming)


@pytest.mark.parametrize(("quality", "praised"), [(9, 1.0), (7, 1.0), (6, 0.0)])
def test_praise_without_an_edit_needs_a_judge_that_praises(
    quality: int, praised: float, make_data: MakeData, predict: Predict
) -> None:
    reply = (
        "- Editing Accuracy: 0/10\n- Contextual Preservation: 10/10\n"
        f"- Visual Quality: {quality}/10"
    )
    with JudgeServer(lambda _: Answer.says(reply)) as server:
        result = results(make_data(2), predict, does_nothing, server)
    assert result.flat["praised_no_edit"] == praised
    assert any("judge praises" in line for line in result.gaming) == bool(praised)


def test_an_unjudged_run_does_not_know_praise(make_data: MakeData, predict: Predict) -> None:
    result = results(make_data(2), predict, does_nothing)
    assert "praised_no_edit" not in result.flat
    assert not any("praises" in line for line in result.gaming)


def test_a_missing_image_is_no_sign_of_anything(make_data: MakeData, predict: Predict) -> None:
    data = make_data(2)
    path = predict({1: encoded(edits_honestly(data.samples[0])), 2: "I cannot edit this image."})
    result = evaluate_medebench([path], data)[0]
    assert [result.flat[name] for name in SIGNS] == [0.0, 0.0, 0.0]
    assert [result.flat[f"{name}_n"] for name in SIGNS] == [1, 1, 1]


def test_without_reference_a_copy_is_not_judged_and_a_no_op_is(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(1, images={1: {"reference": None}})
    result = results(data, predict, does_nothing)
    assert "copied_reference" not in result.flat
    assert result.flat["no_edit"] == 1.0


def test_a_damaged_reference_is_flagged_and_leaves_the_other_columns(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(1)
    assert data.samples[0].reference is not None
    expected = edits_honestly(data.samples[0])
    data.samples[0].reference.write_bytes(b"no image")
    result = evaluate_medebench([predict({1: encoded(expected)})], data)[0]
    assert "reference_unreadable" in result.rows[0].flags
    assert "copied_reference" not in result.flat
    assert result.flat["CP"] == 1.0


@pytest.mark.parametrize(("share", "n_warnings"), [(0.09, 0), (0.1, 1), (None, 0)])
def test_a_warning_needs_a_tenth_of_the_samples(share: float | None, n_warnings: int) -> None:
    summary = Summary("no_edit", share, None, None, 100, 100, 100)
    assert len(gaming_warnings([summary])) == n_warnings
