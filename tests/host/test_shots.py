"""The data sets of in-context editing and the images of several seeds, without a run."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from medbench_vlmeval.data import prepare_medebench
from medbench_vlmeval.editing import EditStore, edited_image_line, read_edit_reply
from medbench_vlmeval.files import read_jsonl, write_jsonl_atomic

from ..data.releases import picture, write_official

pytestmark = pytest.mark.host


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Seven samples: 1 to 4 of one task, of which 1 and 2 have one input; 5 and 6 of another, 6
    without a reference; 7 on its own."""
    rows = {5: {"Task": "Add a crown."}, 6: {"Task": "Add a crown."}, 7: {"Task": "Whiten."}}
    images = {2: {"previous": picture(1)}, 6: {"reference": None}}
    source = write_official(tmp_path / "release", range(1, 8), rows=rows, images=images)
    prepare_medebench(source, progress=False)
    return source


def build(name: str) -> Any:
    from medbench_vlmeval.datasets.medebench_shots import MedEBenchInContext

    return MedEBenchInContext(name)


NAMES = ("MedEBench_1shot_test", "MedEBench_2shot_test", "MedEBench_3shot_test")


def test_the_host_knows_the_names_and_none_begins_another() -> None:
    from vlmeval.dataset import DATASET_TYPE, SUPPORTED_DATASETS

    for name in (*NAMES, "MedEBench_1shot_sample"):
        assert SUPPORTED_DATASETS.count(name) == 1
        assert "EDIT" in DATASET_TYPE(name)
        others = [other for other in SUPPORTED_DATASETS if other != name]
        assert not [other for other in others if other.startswith(name) or name.startswith(other)]


@pytest.mark.parametrize("name", NAMES)
def test_samples_and_rows_are_those_of_the_plain_data_set(release: Path, name: str) -> None:
    from medbench_vlmeval.datasets.medebench import MedEBench

    shots, plain = build(name), MedEBench("MedEBench_test")
    assert shots.data.equals(plain.data)
    assert shots.medebench.samples == plain.medebench.samples
    assert shots.medebench.fingerprint == plain.medebench.fingerprint
    assert shots.expected_ids() == plain.expected_ids()


def test_only_fitting_samples_are_shown_and_the_lack_of_them_is_said(
    release: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shots = build("MedEBench_3shot_test")
    shown = {number: {it.id for it in examples} for number, examples in shots.shown.items()}
    assert shown == {
        1: {3, 4},
        2: {3, 4},
        3: {1, 2, 4},
        4: {1, 2, 3},
        5: set(),
        6: {5},
        7: set(),
    }
    assert "5 of 7 samples have fewer than 3 demonstrations of their task: 1, 2, 5, 6, 7" in (
        caplog.text
    )


@pytest.mark.parametrize("form", ["position", "series", "dict"])
def test_a_prompt_shows_the_demonstrations_first(release: Path, form: str) -> None:
    shots = build("MedEBench_2shot_test")
    line = {"position": 2, "series": shots.data.iloc[2], "dict": dict(shots.data.iloc[2])}[form]
    message = shots.build_prompt(line)
    assert [part["type"] for part in message] == [
        *("text", "image", "text", "text", "image") * 2,
        *("text", "image", "text"),
    ]
    asked = shots.medebench.sample(3)
    assert message[-2]["value"] == str(asked.previous)
    assert message[-1]["value"] == asked.instruction
    images = [part["value"] for part in message if part["type"] == "image"]
    assert images[:-1] == [
        str(path) for it in shots.shown[3] for path in (it.previous, it.reference)
    ]
    assert str(asked.reference) not in images
    assert shots.dump_image(shots.data.iloc[2]) == images


def test_a_sample_without_demonstrations_is_asked_as_ever(release: Path) -> None:
    from medbench_vlmeval.datasets.medebench import MedEBench

    shots, plain = build("MedEBench_1shot_test"), MedEBench("MedEBench_test")
    assert shots.build_prompt(6) == plain.build_prompt(6)
    assert shots.build_prompt(0) != plain.build_prompt(0)


def test_an_instruction_that_names_a_path_stays_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vlmeval.vlm.base import BaseModel

    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    source = write_official(tmp_path / "release", rows={n: {"prompt": "run"} for n in (1, 2, 3)})
    prepare_medebench(source, progress=False)
    message = BaseModel().preproc_content(build("MedEBench_1shot_test").build_prompt(0))
    kinds = [part["type"] for part in message]
    assert kinds == ["text", "image", "text", "text", "image", "text", "image", "text"]


def test_the_data_set_can_be_sent_to_another_process(release: Path) -> None:
    shots = build("MedEBench_2shot_test")
    again = pickle.loads(pickle.dumps(shots))
    assert again.build_prompt(2) == shots.build_prompt(2)


def editor(takes: bool) -> Any:
    from medbench_vlmeval.models.base import ImageEditor

    class Editor(ImageEditor):
        TAKES_DEMONSTRATIONS = takes
        seen: Any = None

        def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
            raise NotImplementedError

        def edit_request(self, request: Any) -> Image.Image:
            self.seen = request
            return request.image

    return Editor


def test_an_editor_finds_the_demonstrations_in_its_request(release: Path) -> None:
    shots = build("MedEBench_2shot_test")
    model = editor(True)(name="Editor")
    model.generate(shots.build_prompt(2), shots.dataset_name)
    asked, shown = shots.medebench.sample(3), shots.shown[3]
    assert model.seen.own_instruction == asked.instruction
    assert model.seen.image_path == asked.previous
    found = [(it.previous, it.instruction, it.changed) for it in model.seen.demonstrations]
    assert found == [(it.previous, it.instruction, it.reference) for it in shown]
    model.generate(shots.build_prompt(6), shots.dataset_name)
    assert model.seen.demonstrations == ()
    assert model.seen.own_instruction == model.seen.instruction == "Remove stain 7."


def test_demonstrations_are_part_of_what_an_edit_is_remembered_by(release: Path) -> None:
    model = editor(True)(name="Editor")
    one, two = build("MedEBench_1shot_test"), build("MedEBench_2shot_test")
    for dataset in (one, two, one):
        model.seen = None
        model.generate(dataset.build_prompt(2), dataset.dataset_name)
        was_made = model.seen is not None
    assert not was_made


@pytest.mark.parametrize(
    ("model", "expected", "words"),
    [
        ("Baseline-CopyInput", False, "Baseline-CopyInput takes one image"),
        ("Folder", "unknown", "not known whether Folder"),
        ("Elsewhere", "unknown", "not known whether Elsewhere"),
        ("Taking", True, ""),
        ("Other", False, "Other takes one image"),
    ],
)
def test_the_manifest_says_what_was_shown_and_whether_it_was_used(
    release: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    expected: object,
    words: str,
) -> None:
    from medbench_vlmeval.registry import EDITORS, EditorEntry

    for name, takes in (("Taking", True), ("Other", False)):
        monkeypatch.setitem(EDITORS, name, EditorEntry(name, editor(takes)))
    shots, store = build("MedEBench_2shot_test"), EditStore.default()
    image = store.add(picture(5))
    cell = edited_image_line(image, size_wh=(40, 30))
    rows = [{"index": str(number), "prediction": cell} for number in range(1, 8)]
    path = tmp_path / "run" / f"{model}_MedEBench_2shot_test.jsonl"
    write_jsonl_atomic(path, rows)
    caplog.clear()
    flat = shots.evaluate(str(path))
    assert flat["n_answered"] == 7
    manifest = json.loads(path.with_name(f"{path.stem}_manifest.json").read_text())
    context = manifest["in_context"]
    assert context["takes_demonstrations"] == expected
    assert (context["shots"], context["seed"]) == (2, 0)
    assert context["samples_by_shots"] == {"0": 2, "1": 1, "2": 4}
    ids = {str(number): [it.id for it in shown] for number, shown in shots.shown.items()}
    assert context["demonstrations"] == ids
    assert manifest["data"]["name"] == "MedEBench_2shot_test"
    records, _ = read_jsonl(path.with_name(f"{path.stem}_scores.jsonl"))
    assert {str(row["index"]): row["demonstrations"] for row in records} == ids
    warned = [it.getMessage() for it in caplog.records if "demonstrations" in it.getMessage()]
    assert [words in message for message in warned] == ([True] if words else [])


def test_a_model_of_a_configuration_file_is_known_by_its_class(
    release: Path, tmp_path: Path
) -> None:
    from medbench_vlmeval.models.baselines import CopyInput

    shots = build("MedEBench_1shot_test")
    cell = CopyInput(name="mine").generate(shots.build_prompt(0), shots.dataset_name)
    path = tmp_path / "run" / "mine_MedEBench_1shot_test.jsonl"
    write_jsonl_atomic(path, [{"index": "1", "prediction": cell}])
    shots.evaluate(str(path))
    manifest = json.loads(path.with_name(f"{path.stem}_manifest.json").read_text())
    assert manifest["in_context"]["takes_demonstrations"] is False


def test_the_plain_data_set_speaks_of_no_demonstrations(release: Path, tmp_path: Path) -> None:
    from medbench_vlmeval.datasets.medebench import MedEBench

    path = tmp_path / "run" / "M_MedEBench_test.jsonl"
    write_jsonl_atomic(path, [{"index": "1", "prediction": "no"}])
    MedEBench("MedEBench_test").evaluate(str(path))
    assert "in_context" not in json.loads(path.with_name(f"{path.stem}_manifest.json").read_text())
    records, _ = read_jsonl(path.with_name(f"{path.stem}_scores.jsonl"))
    assert "demonstrations" not in records[0]


def test_the_host_hook_brings_further_images_and_lists_them(release: Path, tmp_path: Path) -> None:
    shots = build("MedEBench_1shot_test")
    folder = tmp_path / "made"
    folder.mkdir()
    for name, number in (("1_0", 31), ("1_1", 32), ("1_3", 33), ("2_1", 34)):
        (folder / f"{name}.png").write_bytes(picture(number))
    cells = [folder_editor(folder, replicas=4).generate(shots.build_prompt(n)) for n in (0, 1)]
    reply = read_edit_reply(cells[0])
    assert [it.stored is None for it in reply.replicas] == [False, True, False]
    path = tmp_path / "run" / "Folder_MedEBench_1shot_test.jsonl"
    rows = [{"index": str(n), "prediction": cell} for n, cell in enumerate(cells, start=1)]
    write_jsonl_atomic(path, rows)
    assert shots.report_infer_err(path) == {"failed": 1, "total": 2}
    images = path.with_name(f"{path.stem}_images")
    listed = (images / "index.csv").read_text().splitlines()
    assert [entry.split(",")[:2] for entry in listed] == [
        ["id", "replica"],
        ["1", "0"],
        ["1", "1"],
        ["1", "3"],
    ]
    assert (images / listed[3].split(",")[2]).read_bytes() == picture(33)


def folder_editor(folder: Path, **settings: Any) -> Any:
    from medbench_vlmeval.models.folder import FolderEditor

    return FolderEditor(images=str(folder), **settings)


def test_a_folder_counts_on_from_the_replica_it_was_given(release: Path, tmp_path: Path) -> None:
    shots = build("MedEBench_1shot_test")
    for number in range(3):
        (tmp_path / f"1_{number}.png").write_bytes(picture(40 + number))
    model = folder_editor(tmp_path, replica=1, replicas=2)
    reply = read_edit_reply(model.generate(shots.build_prompt(0)))
    assert reply.stored == EditStore.default().add(picture(41))
    assert [it.stored for it in reply.replicas] == [EditStore.default().add(picture(42))]
    with pytest.raises(ValueError, match="replica >= 0"):
        folder_editor(tmp_path, replica=-1)
