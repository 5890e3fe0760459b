from __future__ import annotations

import pytest
from click.testing import CliRunner

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import (
    MEDQ_TABLES,
    DataNotPrepared,
    load_medq,
    prepare_medq_from_hub,
)

from .hub_server import COMMIT, hub_of
from .medq_releases import caption_row, mcq_row, paired_row, prepared, write_table
from .releases import write

REPO = "jiyaoliufd/MedQ-Bench"
DEG_REPO = "jiyaoliufd/MedQ-DEG-Bench"
ROWS = {"mcq": mcq_row, "caption": caption_row, "paired": paired_row}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own; settings are read at import, older releases copy them."""
    from huggingface_hub import _snapshot_download, constants, file_download

    for module in (constants, _snapshot_download, file_download):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(tmp_path / "cache"), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)


def repository(folder):
    """Every table of MedQ-Bench, one row each, and what else a repository holds."""
    for table in MEDQ_TABLES:
        if table.kind in ROWS and table.files:
            write_table(folder, [ROWS[table.kind](0)], table.name)
    write(folder / "README.md", b"card")
    write(folder / "archive" / "medqbench_QA_test.tsv", b"an older one")
    return folder


def files_asked(asked):
    return {path.rpartition(f"/resolve/{COMMIT}/")[2] for path in asked if "/resolve/" in path}


def test_one_file_of_one_recorded_commit_is_downloaded(tmp_path, monkeypatch):
    # Q8b, Q9
    source = repository(tmp_path / "source")
    expected = prepared(source, "MedQ_Paired_test", root=tmp_path / "local")
    with hub_of(source, REPO) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        report = prepare_medq_from_hub("MedQ_Paired_test", progress=False)
    assert files_asked(asked) == {"medqbench_paired_description_test.tsv"}
    assert report.revision == load_medq("MedQ_Paired_test").revision == COMMIT
    assert report.source == f"{address}/datasets/{REPO}"
    assert (report.fingerprint, report.problems) == (expected.fingerprint, {})


def test_a_commit_that_was_downloaded_needs_no_network(tmp_path, monkeypatch):
    with hub_of(repository(tmp_path / "source"), REPO) as (address, _):
        monkeypatch.setenv("HF_ENDPOINT", address)
        prepare_medq_from_hub("MedQ_MCQ_test", progress=False)
    again = prepare_medq_from_hub("MedQ_MCQ_test", COMMIT, progress=False)
    assert (again.copied, again.revision) == (0, COMMIT)


def test_the_robustness_benchmark_is_two_files(tmp_path, monkeypatch):
    for file in (0, 1):
        write_table(tmp_path / "source", [mcq_row(file)], "MedQDEG_test", file)
        write_table(tmp_path / "source", [mcq_row(file)], "MedQDEG_dev", file)
    with hub_of(tmp_path / "source", DEG_REPO) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        report = prepare_medq_from_hub("MedQDEG_test", progress=False)
    assert files_asked(asked) == {"MedQ-Robust-good-test.tsv", "MedQ-Robust-simulate-test.tsv"}
    assert report.n_samples == 2


@pytest.mark.parametrize("name", ["MedQ_MCQ", "MedqbenchMCQ", "MedQ_MCQ_sample", "mine"])
def test_a_name_that_is_no_published_table_downloads_nothing(no_network, name):
    with pytest.raises(ValueError, match="expected a published table of MedQ-Bench"):
        prepare_medq_from_hub(name, progress=False)
    assert no_network == []


def test_a_repository_without_the_file_says_so(tmp_path, monkeypatch):
    source = repository(tmp_path / "source")
    (source / "medqbench_QA_dev.tsv").rename(source / "renamed.tsv")
    with hub_of(source, REPO) as (address, _):
        monkeypatch.setenv("HF_ENDPOINT", address)
        with pytest.raises(DataNotPrepared, match=r"expected medqbench_QA_dev\.tsv in .*renamed"):
            prepare_medq_from_hub("MedQ_MCQ_dev", progress=False)


def test_without_network_and_cache_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataNotPrepared) as caught:
        prepare_medq_from_hub("MedQ_MCQ_test", progress=False)
    assert f"http://127.0.0.1:9/datasets/{REPO} at main could not be downloaded" in str(
        caught.value
    )
    assert "medbench data prepare medq --from FOLDER" in str(caught.value)


def test_an_existing_snapshot_needs_no_network(tmp_path, no_network):
    snapshot = write_table(tmp_path / "snapshots" / COMMIT, [mcq_row()])
    report = prepare_medq_from_hub("MedQ_MCQ_test", local_dir=snapshot, progress=False)
    assert (report.n_samples, report.revision, no_network) == (1, COMMIT, [])
    with pytest.raises(DataNotPrepared, match=r"expected medqbench_QA_dev\.tsv"):
        prepare_medq_from_hub("MedQ_MCQ_dev", local_dir=snapshot, progress=False)


def medbench(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_command_prepares_every_table_of_a_folder(tmp_path):
    done = medbench("data", "prepare", "medq", "--from", repository(tmp_path / "source"))
    # the second medqbench_QA_test.tsv lies deeper, the one of the folder itself is meant
    assert done.exit_code == 0, done.output
    heads = [line for line in done.output.splitlines() if "1 samples, tsv layout" in line]
    assert len(heads) == 6
    verified = medbench("data", "verify", "MedQ_MCQ_test")
    assert (verified.exit_code, verified.output.split(",")[0]) == (0, "MedQ_MCQ_test: as prepared")


def test_the_command_prepares_one_table_by_name(tmp_path, lmu):
    source = repository(tmp_path / "source")
    done = medbench("data", "prepare", "medq", "--from", source, "--name", "MedQ_Caption_dev")
    assert done.exit_code == 0, done.output
    assert [path.name for path in (lmu / "medbench").iterdir() if path.is_dir()] == [
        "MedQ_Caption_dev"
    ]


def test_the_command_takes_names_of_columns(tmp_path):
    row = mcq_row()
    row["stem"] = row.pop("question")
    arguments = ["data", "prepare", "medq", "--from", write_table(tmp_path, [row])]
    failed = medbench(*arguments)
    assert failed.exit_code == 1
    assert "expected columns for question" in failed.output
    done = medbench(*arguments, "--column", "question=stem")
    assert done.exit_code == 0, done.output


def test_the_command_downloads_the_six_tables_at_one_commit(tmp_path, monkeypatch):
    with hub_of(repository(tmp_path / "source"), REPO) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        done = medbench("data", "prepare", "medq", "--hub")
    assert done.exit_code == 0, done.output
    assert done.output.count(f"revision     {COMMIT}") == 6
    assert len(files_asked(asked)) == 6
    assert sum(path.endswith("/revision/main") for path in asked) == 1


def test_the_command_says_what_is_wrong_in_one_line(tmp_path):
    nothing = medbench("data", "prepare", "medq", "--from", tmp_path)
    assert nothing.exit_code == 1
    assert "expected one of medqbench_QA_dev.tsv" in nothing.output
    assert "expected --from PATH or --hub" in medbench("data", "prepare", "medq").output


def test_the_command_generates_the_sample_packs():
    done = medbench("data", "prepare", "medq-sample")
    assert done.exit_code == 0, done.output
    packs = [line.partition(":")[0] for line in done.output.splitlines() if line[0] != " "]
    assert packs == [table.name for table in MEDQ_TABLES if table.is_sample]
    for name in packs:
        assert medbench("data", "verify", name).exit_code == 0
        assert load_medq(name).samples
