"""Training triplets: who is chosen, what must not be tested, what is written."""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest

from medbench_vlmeval.data import (
    FineTuneReport,
    MedEBenchSample,
    export_finetune,
    load_medebench,
    prepare_medebench,
    read_id_list,
)
from medbench_vlmeval.data.finetune_files import COLUMNS, PROMPT_COLUMN
from medbench_vlmeval.data.finetune_split import FineTuneSplit, split_samples
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.pictures import predictions_from_folder

from .releases import picture, write, write_official

NAME = "MedEBench_test"
PAGE = (Path(__file__).parents[2] / "docs" / "finetuning.md").read_text(encoding="utf-8")


def sample(
    number: int, task: str = "A", previous: str = "", reference: str = "", **changes: Any
) -> MedEBenchSample:
    hashes = {"previous": previous or f"p{number:04}", "reference": reference or f"r{number:04}"}
    fields = {
        "id": number,
        "organ": "Teeth",
        "task": task,
        "instruction": "Do it.",
        "description": "Done.",
        "previous": Path(f"{number}.png"),
        "reference": Path(f"{number}.png"),
        "roi": None,
        "sha256": hashes,
    }
    return MedEBenchSample(**fields | changes)


def split(samples: list[MedEBenchSample], shots: int | None, seed: int = 0) -> FineTuneSplit:
    return split_samples(samples, [it.id for it in samples], shots=shots, seed=seed)


# who is chosen


def test_the_choice_is_by_hash_and_can_be_redone_by_hand() -> None:
    samples = [sample(number) for number in range(1, 31)]

    def place(it: MedEBenchSample) -> tuple[str, str]:
        group = min(it.sha256.values())
        words = (f"7\n{group}", f"7\n{it.id}")
        return tuple(hashlib.sha256(word.encode()).hexdigest() for word in words)  # type: ignore[return-value]

    expected = sorted(it.id for it in sorted(samples, key=place)[:4])
    assert list(split(samples, 4, seed=7).train) == expected


def test_the_order_of_the_samples_does_not_matter() -> None:
    samples = [sample(number, task="AB"[number % 2]) for number in range(1, 41)]
    shuffled = random.Random(3).sample(samples, len(samples))
    assert split(samples, 8) == split(shuffled, 8)


def test_fewer_shots_are_a_part_of_more_and_another_seed_is_another_choice() -> None:
    samples = [sample(number) for number in range(1, 41)]
    four, eight, sixteen = (set(split(samples, shots).train) for shots in (4, 8, 16))
    assert four < eight < sixteen
    assert set(split(samples, 16, seed=1).train) != sixteen


@pytest.mark.parametrize(
    ("n_samples", "shots", "n_train"),
    [(1, 4, 0), (2, 4, 1), (7, 4, 3), (30, 16, 15), (33, 16, 16), (9, None, 4)],
)
def test_at_most_half_of_a_task_is_trained_on(
    n_samples: int, shots: int | None, n_train: int
) -> None:
    found = split([sample(number) for number in range(n_samples)], shots)
    assert len(found.train) == n_train
    assert len(found.held_out) == n_samples - n_train
    (counts,) = found.tasks
    assert (counts.n_samples, counts.n_train) == (n_samples, n_train)


def test_samples_that_cannot_be_trained_on_are_left_for_testing_with_their_reason() -> None:
    samples = [sample(number) for number in range(5, 9)]
    broken = [
        sample(1, **{"instruction": " "}),
        sample(2, **{"problems": ("reference unreadable",)}),
        sample(3, **{"problems": ("previous is a Git LFS pointer (git lfs pull)",)}),
        MedEBenchSample(4, "Teeth", "A", "Do.", "", Path("4.png"), None, None, {"previous": "x"}),
    ]
    found = split([*samples, *broken], None)
    assert set(found.train) == {5, 6, 7, 8}
    assert found.held_out == (1, 2, 3, 4)
    assert found.unusable == {
        1: "instruction empty",
        2: "reference unreadable",
        3: "previous is a Git LFS pointer (git lfs pull)",
        4: "reference missing",
    }


# what must not be tested


def test_an_image_of_a_training_sample_is_never_tested_in_whatever_role_and_task() -> None:
    task = [sample(number) for number in range(1, 3)]
    others = [
        sample(101, task="B", previous="p0001", reference="x1"),
        sample(102, task="B", previous="x2", reference="r0001"),
        sample(103, task="B", previous="r0002"),
        sample(104, task="B"),
    ]
    found = split_samples([*task, *others], [1, 2], shots=1)
    (trained,) = found.train
    expected = {
        1: {
            101: "previous image is one of training sample 1",
            102: "reference image is one of training sample 1",
        },
        2: {103: "previous image is one of training sample 2"},
    }
    assert found.leaked == expected[trained]
    assert found.held_out == (3 - trained,)


def hashes(it: MedEBenchSample) -> set[str]:
    return set(it.sha256.values())


@pytest.mark.parametrize("seed", range(20))
def test_no_image_is_both_trained_on_and_tested(seed: int) -> None:
    generator = random.Random(seed)
    samples = [
        sample(
            number,
            task=generator.choice("ABC"),
            previous=f"p{generator.randrange(20)}",
            reference=f"r{generator.randrange(20)}",
        )
        for number in range(40)
    ]
    found = split(samples, generator.choice([1, 4, 8, None]), seed=seed)
    used = {digest for it in samples if it.id in found.train for digest in hashes(it)}
    assert not any(used & hashes(it) for it in samples if it.id in found.held_out)
    assert all(used & hashes(it) for it in samples if it.id in found.leaked)
    parts = [set(found.train), set(found.held_out), set(found.leaked)]
    assert set.union(*parts) == {it.id for it in samples}
    assert sum(map(len, parts)) == len(samples)


def test_samples_of_one_photograph_are_chosen_together_so_that_few_are_lost() -> None:
    samples = [sample(number, previous=f"photo{number // 4}") for number in range(40)]
    found = split(samples, 8)
    assert len({number // 4 for number in found.train}) == 2
    assert not found.leaked
    assert len(split(samples, 6).leaked) == 2


def test_a_number_of_shots_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one shot, got 0"):
        split([sample(1), sample(2)], 0)


# what is written


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Ten samples of two tasks; 8 shows the photograph of 7."""
    rows = {number: {"Task": "Remove moles."} for number in range(7, 11)}
    shared = picture(7)
    images: Mapping[int, Mapping[str, bytes | None]] = {8: {"previous": shared}}
    source = write_official(tmp_path / "release", range(1, 11), rows=rows, images=images)
    prepare_medebench(source, progress=False)
    return source


def export(folder: Path, **options: Any) -> FineTuneReport:
    return export_finetune(folder, **{"shots": 2, "progress": False, **options})


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_an_imagefolder_holds_the_bytes_of_the_release(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = export(out)
    written = files(out)
    data = load_medebench(NAME)
    rows = [json.loads(line) for line in written["train/metadata.jsonl"].splitlines()]
    assert [row["id"] for row in rows] == list(report.split.train)
    for row in rows:
        it = data.sample(row["id"])
        assert row["edit_prompt"] == it.instruction
        assert (it.previous, it.reference) != (None, None)
        assert written[f"train/{row['input_image_file_name']}"] == it.previous.read_bytes()  # type: ignore[union-attr]
        assert written[f"train/{row['edited_image_file_name']}"] == it.reference.read_bytes()  # type: ignore[union-attr]
    pictures = [name for name in written if name.startswith("train/") and "image/" in name]
    assert len(pictures) == 2 * len(rows)


def test_the_lists_and_the_manifest_say_what_may_be_tested(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = export(out, shots=1, tasks=["remove moles"]).split
    assert read_id_list(out / "train_ids.txt") == list(found.train)
    assert read_id_list(out / "held_out_ids.txt") == list(found.held_out)
    assert set(found.train) | set(found.held_out) | set(found.leaked) == {7, 8, 9, 10}
    leaked = (out / "leaked_ids.txt").read_text()
    assert leaked == "".join(f"{number}\t{reason}\n" for number, reason in found.leaked.items())
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["request"]["data_fingerprint"] == load_medebench(NAME).fingerprint
    assert manifest["request"]["tasks"] == ["Remove moles."]
    assert manifest["request"]["seed"] == 0
    assert (manifest["n_train"], manifest["n_outside"]) == (1, 6)
    assert manifest["tasks"][0]["n_samples"] == 4
    assert "half" in manifest["rule"]
    assert manifest["package_version"]


def test_the_report_says_which_tasks_fall_short(release: Path, tmp_path: Path) -> None:
    text = "\n".join(export(tmp_path / "out", shots=16).lines())
    assert "fewer shots than asked for, 2 tasks:" in text
    assert "Remove stains. (3 of 16: 6 samples, 6 usable, at most half are trained on)" in text


def test_a_task_of_one_photograph_has_nothing_left_to_test(tmp_path: Path) -> None:
    images = {number: {"previous": picture(1)} for number in (1, 2, 3)}
    prepare_medebench(write_official(tmp_path / "release", images=images), progress=False)
    report = export(tmp_path / "out")
    assert not report.split.held_out
    assert "nothing left to test, 1 tasks:" in "\n".join(report.lines())
    assert (tmp_path / "out" / "held_out_ids.txt").read_text() == ""
    with pytest.raises(ValueError, match="expected ids in"):
        read_id_list(tmp_path / "out" / "held_out_ids.txt")


def test_a_second_run_writes_the_same_and_continues_a_killed_one(
    release: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(out)
    whole = files(out)
    stamp = (out / "train" / "metadata.jsonl").stat().st_mtime_ns
    kept = next(out.glob("train/input_image/*"))
    untouched = kept.stat().st_mtime_ns
    manifest = json.loads(whole["manifest.json"]) | {"complete": False}
    (out / "manifest.json").write_text(json.dumps(manifest))
    next(out.glob("train/edited_image/*")).write_bytes(b"half")
    (out / "train" / ".metadata.jsonl.x.part").write_bytes(b"half")
    (out / "held_out_ids.txt").unlink()
    export(out)
    assert files(out) == whole
    assert kept.stat().st_mtime_ns == untouched
    assert (out / "train" / "metadata.jsonl").stat().st_mtime_ns > stamp


def test_another_export_is_replaced_only_when_asked_and_then_leaves_nothing(
    release: Path, tmp_path: Path
) -> None:
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    export(out)
    before = files(out)
    with pytest.raises(FileExistsError, match="pass --replace"):
        export(out, seed=5)
    assert files(out) == before
    export(out, seed=5, shots=1, replace=True)
    export(fresh, seed=5, shots=1)
    assert files(out) == files(fresh)


@pytest.mark.parametrize("content", ["notes.txt", "manifest.json"])
def test_a_folder_with_something_else_is_never_written_to(
    release: Path, tmp_path: Path, content: str
) -> None:
    write(tmp_path / "out" / content, b'{"name": "MedEBench_test"}')
    before = files(tmp_path / "out")
    with pytest.raises(FileExistsError, match="holds something else"):
        export(tmp_path / "out", replace=True)
    assert files(tmp_path / "out") == before


def test_an_image_that_changed_since_is_an_error(release: Path, tmp_path: Path, lmu: Path) -> None:
    for path in lmu.rglob("changed/*.png"):
        path.write_bytes(picture(77))
    with pytest.raises(ValueError, match="medbench data verify"):
        export(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["complete"] is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": ["Remove mole"]}, r"a known task such as 'Remove moles\.'.*got 'Remove mole'"),
        ({"organs": ["Tooth"]}, r"a known organ such as 'Teeth', got 'Tooth'"),
        ({"format": "webdataset"}, "expected one of imagefolder, parquet"),
        ({"shots": 0}, "at least one shot"),
    ],
)
def test_wrong_options_are_named(
    release: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        export(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_tasks_of_a_single_sample_cannot_be_trained_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most half of a task's samples"):
        export(tmp_path / "out", data="MedEBench_sample")


# parquet


def test_parquet_has_the_layout_of_the_datasets_library(release: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out"
    report = export(out, format="parquet")
    table = parquet.read_table(out / "train" / "train-00000-of-00001.parquet")
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["input_image"] == features["edited_image"] == {"_type": "Image"}
    assert features["edit_prompt"] == {"dtype": "string", "_type": "Value"}
    assert list(features) == table.column_names
    assert str(table.schema.field("input_image").type) == "struct<bytes: binary, path: string>"
    data = load_medebench(NAME)
    for row in table.to_pylist():
        it = data.sample(row["id"])
        assert row["input_image"]["bytes"] == it.previous.read_bytes()  # type: ignore[union-attr]
        assert row["edited_image"]["bytes"] == it.reference.read_bytes()  # type: ignore[union-attr]
        assert row["edit_prompt"] == it.instruction
    assert table["id"].to_pylist() == list(report.split.train)
    assert [it.name for it in (out / "train").iterdir()] == ["train-00000-of-00001.parquet"]


def test_parquet_without_pyarrow_names_the_command(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "medbench-vlmeval\[hub\]"'):
        export(tmp_path / "out", format="parquet")


# scoring what was held out


def test_only_the_held_out_samples_are_scored(release: Path, tmp_path: Path) -> None:
    out, made = tmp_path / "out", tmp_path / "made"
    export(out)
    for number in range(1, 11):
        write(made / f"{number}_0.png", picture(50 + number))
    data = load_medebench(NAME)
    pictures = predictions_from_folder(made, data, model="M", output=tmp_path / "scores")
    ids = read_id_list(out / "held_out_ids.txt")
    (result,) = evaluate_medebench([pictures.predictions], data, expected_ids=ids)
    assert [row.sample.id for row in result.rows] == ids
    assert result.flat["n_expected"] == len(ids) < 10


def test_the_program_of_the_page_scores_the_held_out_samples(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUDGE", raising=False)
    report = export(Path("export-4"))
    run = tmp_path / "outputs" / "ip2p-4shot"
    rows = [{"index": number, "prediction": f"{number}_0.png"} for number in range(1, 11)]
    for row in rows:
        write(run / str(row["prediction"]), picture(int(row["index"])))
    pandas.DataFrame(rows).to_excel(run / "ip2p-4shot_MedEBench_test.xlsx", index=False)
    (program,) = re.findall(r"```python score_held_out.py\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "docs/finetuning.md", "exec"), names)
    assert names["result"].flat["n_expected"] == len(report.split.held_out)
    assert names["result"].flat["n_answered"] == len(report.split.held_out)


def test_the_page_names_the_options_and_the_files() -> None:
    for name in ("train", "held_out", "leaked"):
        assert f"`{name}_ids.txt`" in PAGE
    for column in (*COLUMNS, PROMPT_COLUMN):
        assert f"`{column}`" in PAGE
    for option in ("--shots", "--task", "--seed", "--format parquet", "--replace"):
        assert option in PAGE


@pytest.mark.parametrize("line", ["x", "-3", "4\n4", "1.5"])
def test_a_line_that_is_no_id_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "ids.txt").write_text(f"# held out\n\n12\tnote\n{line}\n")
    with pytest.raises(ValueError, match=r"ids\.txt, line \d: expected an id"):
        read_id_list(tmp_path / "ids.txt")
