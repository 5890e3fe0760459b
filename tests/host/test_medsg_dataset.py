"""The dataset class of MedSG-Bench inside the real host, without a run."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import write_jsonl_atomic

pytestmark = pytest.mark.host


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from medbench_vlmeval.datasets.medsg import MedSG

    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("MEDBENCH_MEDSG_CONVENTION", "absolute")
    return MedSG("MedSG_sample")


@pytest.mark.parametrize("kind", ["position", "series", "dict"])
def test_all_images_are_asked_in_order(dataset: Any, kind: str) -> None:
    line = {"position": 0, "series": dataset.data.iloc[0], "dict": dataset[0]}[kind]
    message = dataset.build_prompt(line)
    images = [item["value"] for item in message if item["type"] == "image"]
    assert images == dataset.dump_image(dataset[0])
    assert len(images) > 1
    assert message[-1]["value"].endswith("in pixels of the image as given.")


def test_it_can_be_sent_to_another_process(dataset: Any) -> None:
    again = pickle.loads(pickle.dumps(dataset))
    assert again.build_prompt(0) == dataset.build_prompt(0)


def _predictions(dataset: Any, folder: Path, model: str, scale: float = 1.0) -> Path:
    rows = []
    for sample in dataset.medsg.samples:
        corners = ", ".join(str(scale * side) for side in sample.truth)
        row = {"index": str(sample.index), "prediction": f"[{corners}]", "convention": "absolute"}
        rows.append(row | {"convention_source": "explicit", "convention_family": ""})
    return write_jsonl_atomic(folder / f"{model}_MedSG_sample.jsonl", rows)


def test_boxes_are_mapped_back_from_the_size_of_the_zoo_entry(
    dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vlmeval.config import supported_VLM

    entry = functools.partial(object, min_pixels=1280 * 28 * 28, max_pixels=16384 * 28 * 28)
    monkeypatch.setitem(supported_VLM, "Enlarging", entry)
    square = [sample for sample in dataset.medsg.samples if sample.size_wh == (336, 336)]
    dataset.data = dataset.data[dataset.data["index"].isin([sample.index for sample in square])]
    path = _predictions(dataset, tmp_path, "Enlarging", scale=3.0)
    assert dataset.evaluate(str(path))["IoU_strict"] == pytest.approx(1.0)


def test_a_model_that_takes_one_image_is_named(
    dataset: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    import logging

    from vlmeval.config import supported_VLM

    class OneImage:
        INTERLEAVE = False

    monkeypatch.setitem(supported_VLM, "OneImage", functools.partial(OneImage))
    logger = logging.getLogger("medbench_vlmeval")
    monkeypatch.setattr(logger, "parent", logging.getLogger())
    with caplog.at_level(logging.INFO, logger="medbench_vlmeval"):
        dataset.evaluate(str(_predictions(dataset, tmp_path, "OneImage")))
    assert "OneImage takes one image only" in caplog.text


def test_rows_asked_in_two_conventions_are_refused(dataset: Any, tmp_path: Path) -> None:
    rows = [
        {"index": "100000", "prediction": "[0, 0, 1, 1]", "convention": name}
        for name in ("absolute", "norm1")
    ]
    rows[1]["index"] = "100001"
    path = write_jsonl_atomic(tmp_path / "M_MedSG_sample.jsonl", rows)
    with pytest.raises(ValueError, match="asked in one convention"):
        dataset.evaluate(str(path))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"medbench_sent_size": [672, 672]}, "check the spelling"),
        ({"medbench_sent_size_wh": 672}, "width, height"),
        ({"medbench_sent_size_wh": [0, 5]}, "at least 1 x 1"),
    ],
)
def test_an_option_that_is_none_is_refused(
    dataset: Any, tmp_path: Path, given: dict[str, Any], reason: str
) -> None:
    path = _predictions(dataset, tmp_path, "M")
    with pytest.raises(ValueError, match=reason):
        dataset.evaluate(str(path), **given)


def test_options_of_other_benchmarks_do_not_matter(dataset: Any, tmp_path: Path) -> None:
    path = _predictions(dataset, tmp_path, "M")
    given = {"medbench_scoring_jobs": 2, "medbench_max_cost": 3, "model": "gpt-4o", "nproc": 4}
    assert dataset.evaluate(str(path), **given)["IoU_strict"] == pytest.approx(1.0)
