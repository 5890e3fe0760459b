from __future__ import annotations

import pytest

from medbench_vlmeval.data import (
    DataNotPrepared,
    load_medebench,
    prepare_medebench,
    prepare_medebench_from_hub,
)

from .hub_server import COMMIT, hub_of
from .releases import write, write_official

REPO = "someone/MedEBench"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own; settings are read at import, older releases copy them."""
    from huggingface_hub import _snapshot_download, constants, file_download

    for module in (constants, _snapshot_download, file_download):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(tmp_path / "cache"), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)


def test_a_download_records_the_commit_it_got_and_works_offline_afterwards(tmp_path, monkeypatch):
    source = write_official(tmp_path / "source")
    write(source / "weights" / "model.bin", b"not wanted")
    expected = prepare_medebench(source, name="local", progress=False)
    with hub_of(source, REPO) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        report = prepare_medebench_from_hub(REPO, progress=False)
    assert report.revision == COMMIT
    assert report.source == f"{address}/datasets/{REPO}"
    assert report.fingerprint == expected.fingerprint
    assert load_medebench().revision == COMMIT
    assert not any("model.bin" in path for path in asked)

    again = prepare_medebench_from_hub(REPO, progress=False)
    assert (again.copied, again.revision) == (0, COMMIT)
    pinned = prepare_medebench_from_hub(REPO, COMMIT, name="pinned", progress=False)
    assert pinned.fingerprint == expected.fingerprint


def test_without_network_and_cache_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataNotPrepared) as caught:
        prepare_medebench_from_hub(REPO, progress=False)
    text = str(caught.value)
    assert "http://127.0.0.1:9/datasets/someone/MedEBench at main could not be downloaded" in text
    assert "medbench data prepare medebench --from FOLDER" in text


def test_an_unknown_repository_or_revision_is_told_apart_from_no_network(tmp_path, monkeypatch):
    with hub_of(write_official(tmp_path / "source"), REPO) as (address, _):
        monkeypatch.setenv("HF_ENDPOINT", address)
        for repo, revision in (("someone/Else", "main"), (REPO, "nowhere")):
            with pytest.raises(DataNotPrepared, match="404"):
                prepare_medebench_from_hub(repo, revision, progress=False)


def test_an_existing_snapshot_folder_needs_no_network(tmp_path, no_network):
    snapshot = write_official(tmp_path / "snapshots" / COMMIT)
    report = prepare_medebench_from_hub(local_dir=snapshot, progress=False)
    assert (report.n_samples, report.revision) == (3, COMMIT)
    assert no_network == []
    with pytest.raises(DataNotPrepared, match="expected a snapshot folder"):
        prepare_medebench_from_hub(local_dir=tmp_path / "absent", progress=False)
