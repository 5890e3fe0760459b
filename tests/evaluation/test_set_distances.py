from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.editing.collecting import images_folder
from medbench_vlmeval.evaluation import set_distances
from medbench_vlmeval.evaluation.fid_runs import FinishedEdits, measured_runs, shown_distances
from medbench_vlmeval.evaluation.image_sets import ImageSet, features_of_set, images_of_folder
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.set_distances import (
    LEAST_FOR_KERNEL,
    RunDistances,
    TooFewImages,
    check_comparable,
    comparable_runs,
    measured_run,
)
from medbench_vlmeval.features import FeatureCache, FeatureExtractor, FeatureFunction
from medbench_vlmeval.images import read_rgb
from medbench_vlmeval.metrics import frechet_distance, kernel_distance
from medbench_vlmeval.report.runs import Run

from ..data.releases import picture
from ..features.networks import mean_colours
from .conftest import Predict

MakeData = Callable[..., MedEBenchData]
COLOURS = FeatureFunction("mean_colours", 6, mean_colours, sha256="0" * 64)
KERNEL_BOUND, FRECHET_BOUND = 10, 60
"""Lower than the real ones, so that the tests need no hundreds of images."""
ENOUGH = KERNEL_BOUND + 4


class Counting:
    """`COLOURS`, counting the images it was given."""

    name, dim, sha256, resize = COLOURS.name, COLOURS.dim, COLOURS.sha256, COLOURS.resize

    def __init__(self) -> None:
        self.n_images = 0

    def __call__(self, images: Sequence[np.ndarray]) -> np.ndarray:
        self.n_images += len(images)
        return COLOURS(images)


@pytest.fixture(autouse=True)
def lower_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_distances, "LEAST_FOR_KERNEL", KERNEL_BOUND)
    monkeypatch.setattr(set_distances, "LEAST_FOR_FRECHET", FRECHET_BOUND)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FeatureCache:
    monkeypatch.setenv("MEDBENCH_FEATURE_CACHE", str(tmp_path / "features"))
    return FeatureCache()


@pytest.fixture
def finished(predict: Predict) -> Callable[..., FinishedEdits]:
    """Evaluates predictions, and gives the run as the command would read it."""

    def run(data: MedEBenchData, predictions: dict[int, Any], model: str = "M") -> FinishedEdits:
        path = predict(predictions, model=model)
        evaluate_medebench([path], data)
        read = Run.at(path)
        return FinishedEdits(
            read.model, read.predictions, images_folder(path), read.rows, read.manifest["data"]
        )

    return run


Finished = Callable[..., FinishedEdits]


def folder_of(root: Path, seeds: Sequence[int], size_wh: tuple[int, int] = (6, 5)) -> ImageSet:
    root.mkdir()
    for number, seed in enumerate(seeds):
        (root / f"{number:04}.png").write_bytes(picture(seed, size_wh))
    return images_of_folder(root)


def measured(
    edited: ImageSet, reference: ImageSet, extractor: FeatureExtractor, cache: FeatureCache
) -> RunDistances:
    sets = (features_of_set(images, extractor, cache) for images in (edited, reference))
    return measured_run("M", *sets, extractor)


def of(extractor: FeatureExtractor) -> Callable[[], FeatureExtractor]:
    return lambda: extractor


def never() -> FeatureExtractor:
    raise AssertionError("the extractor was loaded")


def test_a_run_is_measured_and_written_beside_its_predictions(
    make_data: MakeData, finished: Finished
) -> None:
    data = make_data(ENOUGH)
    run = finished(data, {it: picture(it) for it in range(1, ENOUGH + 1)})
    (found,) = measured_runs([run], of(COLOURS))
    written = json.loads(run.output.read_text(encoding="utf-8"))
    assert run.output.name == "M_MedEBench_test_fid.json"
    assert written["predictions"]["file"] == run.predictions.name
    assert written["data"]["fingerprint"] == data.fingerprint
    assert written["extractor"] == {
        "name": "mean_colours", "sha256": "0" * 64, "resize": "as the function does", "dim": 6,
    }  # fmt: skip
    assert written["names"] == {"frechet": "Frechet_mean_colours", "kernel": "MMD2_mean_colours"}
    assert written["edited"]["n"] == written["reference"]["n"] == ENOUGH
    (overall,) = written["distances"]
    assert overall["frechet"] is None
    assert overall["refused"] == f"n={ENOUGH} < {FRECHET_BOUND}"
    assert overall["kernel"]["value"] == found.overall.kernel.value


def test_the_kernel_distances_are_those_of_the_images(
    make_data: MakeData, finished: Finished
) -> None:
    data = make_data(ENOUGH)
    run = finished(data, {it: picture(it) for it in range(1, ENOUGH + 1)})
    (found,) = measured_runs([run], of(COLOURS))

    edited = mean_colours([read_rgb(picture(it)).pixels for it in range(1, ENOUGH + 1)])
    changed = mean_colours([read_rgb(picture(1000 + it)).pixels for it in range(1, ENOUGH + 1)])
    kernel = found.overall.kernel
    assert kernel.value == pytest.approx(kernel_distance(edited, changed))
    assert kernel.paired is not None
    assert kernel.spread.subset_size == ENOUGH // 2


def test_copies_of_the_reference_have_a_paired_distance_of_zero(
    make_data: MakeData, finished: Finished
) -> None:
    run = finished(make_data(ENOUGH), {it: picture(1000 + it) for it in range(1, ENOUGH + 1)})
    (found,) = measured_runs([run], of(COLOURS))
    kernel = found.overall.kernel
    assert kernel.paired == pytest.approx(0, abs=1e-6 * abs(kernel.value))
    assert kernel.value < 0


def test_what_was_left_out_is_counted_and_said(make_data: MakeData, finished: Finished) -> None:
    images: dict[int, Any] = {it: picture(it) for it in range(1, ENOUGH + 1)}
    images[1], images[2], images[3] = "I cannot edit this.", picture(2)[:200], picture(4)
    changed = {5: {"reference": picture(5)[:150]}, 6: {"reference": None}}
    run = finished(make_data(ENOUGH, images=changed), images)
    (found,) = measured_runs([run], of(COLOURS))
    statuses = dict(found.edited.left_out)
    assert statuses.pop("unreadable") == (2,)
    assert [*statuses.values()] == [(1,)]
    assert found.reference.left_out == {"missing": (6,), "unreadable": (5,)}
    assert (found.overall.n_edited, found.overall.n_reference) == (ENOUGH - 2, ENOUGH - 2)
    assert found.overall.n_edited_distinct == ENOUGH - 3
    shown = shown_distances([found])
    assert "M: edited images left out: " in shown
    assert "1 unreadable" in shown
    assert "M: changed images left out: 1 missing, 1 unreadable" in shown
    assert f"M: {ENOUGH - 2} edited images are {ENOUGH - 3} different files" in shown


def test_one_task_is_never_measured_and_no_network_is_loaded_for_it(
    make_data: MakeData, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_distances, "LEAST_FOR_KERNEL", LEAST_FOR_KERNEL)  # the real one
    run = finished(make_data(17), {it: picture(it) for it in range(1, 18)})
    with pytest.raises(TooFewImages, match="n=17 edited and n=17 reference"):
        measured_runs([run], never)
    assert not run.output.exists()


def test_references_that_cannot_be_read_can_make_a_run_too_small(
    make_data: MakeData, finished: Finished
) -> None:
    n = KERNEL_BOUND
    data = make_data(n, images={1: {"reference": picture(5)[:150]}})
    run = finished(data, {it: picture(it) for it in range(1, n + 1)})
    with pytest.raises(TooFewImages, match=f"n={n - 1} reference"):
        measured_runs([run], of(COLOURS))


def test_references_are_run_through_once_for_all_runs(
    make_data: MakeData, finished: Finished
) -> None:
    data, extractor = make_data(ENOUGH), Counting()
    numbers = range(1, ENOUGH + 1)
    runs = [
        finished(data, {it: picture(seed + it) for it in numbers}, model)
        for seed, model in ((0, "A"), (5000, "B"))
    ]
    first = measured_runs(runs, of(extractor))
    assert extractor.n_images == 3 * ENOUGH
    assert [it.record() for it in measured_runs(runs, of(extractor))] == [
        it.record() for it in first
    ]
    assert extractor.n_images == 3 * ENOUGH


def test_an_image_that_is_not_the_scored_one_is_refused(
    make_data: MakeData, finished: Finished
) -> None:
    run = finished(make_data(ENOUGH), {it: picture(it) for it in range(1, ENOUGH + 1)})
    image = next(it for it in run.images.iterdir() if it.suffix == ".png")
    image.unlink()
    image.write_bytes(picture(9999))
    with pytest.raises(ValueError, match="gone or not the one that was scored"):
        measured_runs([run], never)


def test_a_run_on_other_data_is_refused(make_data: MakeData, finished: Finished) -> None:
    run = finished(make_data(ENOUGH), {it: picture(it) for it in range(1, ENOUGH + 1)})
    other = replace(run, data={**run.data, "fingerprint": "f" * 64})
    with pytest.raises(ValueError, match="expected the data it was scored on"):
        measured_runs([other], never)


def test_a_run_of_another_benchmark_is_refused() -> None:
    run = FinishedEdits("M", Path("M.tsv"), Path("M_images"), [{"index": 1}], {})
    with pytest.raises(ValueError, match="name a run of MedEBench"):
        measured_runs([run], never)


def test_the_inputs_or_a_folder_can_be_the_reference(
    make_data: MakeData, finished: Finished, tmp_path: Path
) -> None:
    run = finished(make_data(ENOUGH), {it: picture(it) for it in range(1, ENOUGH + 1)})
    (inputs,) = measured_runs([run], of(COLOURS), reference="previous")
    assert inputs.overall.kernel.paired == pytest.approx(0, abs=1e-3)
    folder_of(tmp_path / "others", range(ENOUGH + 5))
    (others,) = measured_runs([run], of(COLOURS), reference=str(tmp_path / "others"))
    assert others.overall.n_reference == ENOUGH + 5
    assert others.overall.kernel.paired is None
    with pytest.raises(ValueError, match="changed, previous or a folder"):
        measured_runs([run], never, reference="changd")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="image files in it, got none"):
        measured_runs([run], never, reference=str(tmp_path / "empty"))


def test_runs_with_other_counts_stand_in_tables_of_their_own_unless_they_share(
    make_data: MakeData, finished: Finished
) -> None:
    data = make_data(ENOUGH)
    numbers = range(1, ENOUGH + 1)
    whole = finished(data, {it: picture(it) for it in numbers}, "A")
    given = {it: picture(it) if it > 3 else "no" for it in numbers} | {2: picture(2)[:200]}
    part = finished(data, given, "B")
    found = measured_runs([whole, part], of(COLOURS))
    assert [len(runs) for runs in comparable_runs(found)] == [1, 1]
    assert "2 tables, because n, reference or extractor differ" in shown_distances(found)
    with pytest.raises(ValueError, match=f"n of edited images {ENOUGH} and {ENOUGH - 3}"):
        check_comparable(*found)

    shared = measured_runs([whole, part], of(COLOURS), common=True)
    assert [len(runs) for runs in comparable_runs(shared)] == [2]
    check_comparable(*shared)
    assert shared[0].edited.left_out == {"not in every run": (1, 2, 3)}
    assert "do not compare" not in shown_distances(shared)
    kernels = [it.overall.kernel for it in shared]
    assert kernels[0] == kernels[1]


def test_another_extractor_is_never_compared(tmp_path: Path, cache: FeatureCache) -> None:
    edited = folder_of(tmp_path / "edited", range(ENOUGH))
    reference = folder_of(tmp_path / "reference", range(500, 500 + ENOUGH))
    other = replace(COLOURS, sha256="1" * 64)
    pair = [measured(edited, reference, it, cache) for it in (COLOURS, other)]
    assert len(comparable_runs(pair)) == 2
    with pytest.raises(ValueError, match="extractor"):
        check_comparable(*pair)


def test_enough_images_get_a_frechet_distance_with_rank_and_floor(
    tmp_path: Path, cache: FeatureCache
) -> None:
    n = FRECHET_BOUND
    edited = folder_of(tmp_path / "edited", range(n))
    reference = folder_of(tmp_path / "reference", range(n, 2 * n + 7))
    found = measured(edited, reference, COLOURS, cache)
    frechet = found.overall.frechet
    assert frechet is not None
    recalled = [cache.recall(it.hashes, COLOURS) for it in (edited, reference)]
    values = [it.values for it in recalled if it is not None]
    assert frechet.value == frechet_distance(*values)
    assert (frechet.n_a, frechet.n_b, frechet.rank_a, frechet.dim) == (n, n + 7, 6, 6)
    assert frechet.noise_floor is not None
    assert frechet.noise_floor.n_half == (n + 7) // 2
    assert found.overall.refused == ""
    line = next(it for it in shown_distances([found]).splitlines() if it.startswith("│ M"))
    assert f"{n} / {n + 7}" in line
    assert f"{frechet.value:.2f}" in line
    assert "6 / 6" in line


def test_organs_are_measured_only_where_they_are_large_enough(
    tmp_path: Path, cache: FeatureCache
) -> None:
    n, small = KERNEL_BOUND, KERNEL_BOUND - 1
    organs = ("Skin",) * n + ("Bones",) * small
    edited = replace(folder_of(tmp_path / "edited", range(len(organs))), groups=organs)
    reference = replace(
        folder_of(tmp_path / "reference", range(900, 900 + len(organs))), groups=organs
    )
    found = measured(edited, reference, COLOURS, cache)
    assert [(it.group, it.n_edited) for it in found.groups] == [
        ("Overall", len(organs)),
        ("Skin", n),
    ]
    assert all(it.frechet is None for it in found.groups)
    values = [cache.recall(it.hashes, COLOURS) for it in (edited, reference)]
    kernel = found.groups[1].kernel
    assert kernel.value == kernel_distance(*(it.values[:n] for it in values if it is not None))
