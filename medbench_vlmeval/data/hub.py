"""Fetches the release from the Hugging Face Hub, at one recorded commit."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .places import RELEASE_NAME
from .prepare import PrepareReport, prepare_release
from .remedies import HUB_REPOSITORY, DataNotPrepared
from .snapshots import read_snapshot

_COMMIT = re.compile(r"[0-9a-f]{40}")
_WANTED_FILES = [
    "*.json",
    "*.jsonl",
    "*.csv",
    "*.parquet",
    "*.png",
    "*.jpg",
    "*.jpeg",
    "*.webp",
    "*.md",
]


def prepare_medebench_from_hub(
    repo: str = HUB_REPOSITORY,
    revision: str = "main",
    *,
    local_dir: Path | None = None,
    name: str = RELEASE_NAME,
    root: Path | None = None,
    columns: Mapping[str, str] | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Download the release and prepare it; the commit it resolved to is in the report and manifest.

    Args:
        repo: Data set repository of the Hub.
        revision: Commit, tag or branch. A branch moves: pass the commit of an earlier report to get
            the same data again.
        local_dir: An existing snapshot folder; with it nothing is downloaded.
        name: Name of the prepared data set.
        root: Data folder; default `lmu_root()`.
        columns: Field to column name, where the release's columns are not clear.
        replace: Allow that an earlier preparation under this name changes.
        progress: Show a progress bar.

    Raises:
        DataNotPrepared: the Hub cannot be reached and its cache holds no whole copy, or it refuses.
        ColumnsUnclear: see `match_columns`.
        ImportError: huggingface_hub or pyarrow is missing.

    Notes:
        `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME`, `HF_HUB_OFFLINE` are honoured by huggingface_hub.
    """
    folder = Path(local_dir) if local_dir is not None else downloaded(repo, revision)
    if not folder.is_dir():
        raise DataNotPrepared(
            f"expected a snapshot folder, {folder} is none; give the folder of the release's files"
        )
    source = address_of(repo) if local_dir is None else str(folder)
    commit = commit_of(folder, revision)
    release = read_snapshot(folder, source=source, revision=commit, columns=columns)
    return prepare_release(release, name=name, root=root, replace=replace, progress=progress)


def address_of(repo: str) -> str:
    """Where the Hub, or the mirror named by `HF_ENDPOINT`, keeps the data set."""
    return f"{_endpoint()}/datasets/{repo}"


def commit_of(folder: Path, revision: str) -> str | None:
    """Commit of a snapshot folder: its own name, else the revision asked for, if either is one."""
    return next((text for text in (folder.name, revision) if _COMMIT.fullmatch(text)), None)


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def downloaded(
    repo: str,
    revision: str,
    *,
    patterns: Sequence[str] = _WANTED_FILES,
    ignored: Sequence[str] = (),
    benchmark: str = "medebench",
) -> Path:
    """The snapshot folder of a Hub data set, downloaded or from the cache.

    Args:
        repo: Data set repository.
        revision: Commit, tag or branch.
        patterns: Which files are wanted.
        ignored: Which of these are not.
        benchmark: As `medbench data prepare` calls it, for the message.

    Raises:
        DataNotPrepared: the Hub cannot be reached and its cache holds no whole copy, or it refuses.
        ImportError: huggingface_hub is missing.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.utils import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise ImportError(
            'downloading from the Hub needs huggingface_hub: pip install "medbench-vlmeval[hub]"'
        ) from error
    try:
        folder = snapshot_download(
            repo,
            repo_type="dataset",
            revision=revision,
            allow_patterns=list(patterns),
            ignore_patterns=list(ignored),
            endpoint=os.environ.get("HF_ENDPOINT") or None,
        )
    except (LocalEntryNotFoundError, HfHubHTTPError) as error:
        raise DataNotPrepared(_unavailable_message(repo, revision, error, benchmark)) from error
    return Path(folder)


def _unavailable_message(repo: str, revision: str, error: BaseException, benchmark: str) -> str:
    # huggingface_hub looks into its cache after a failed call; the call's own error says more.
    error = error.__cause__ or error
    cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return "\n".join(
        [
            f"{address_of(repo)} at {revision} could not be downloaded: {cause}",
            "Set HF_ENDPOINT for a mirror, HF_TOKEN for a restricted repository.",
            "Without network: download the repository elsewhere, copy its folder here, and run",
            f"  medbench data prepare {benchmark} --from FOLDER",
        ]
    )
