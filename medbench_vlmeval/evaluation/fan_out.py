"""One function over many chunks of work: in this process, over processes, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

BACKENDS = ("serial", "loky", "threading", "dask", "ray")
_CHUNK = 16
_WORTH_WORKERS = 64
"""Below this many items starting worker processes costs more than it saves."""


def map_chunks(
    function: Callable[[Sequence[Item]], list[Outcome]],
    items: Sequence[Item],
    *,
    progress: str,
    backend: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> list[Outcome]:
    """``function`` over chunks of ``items``, results in order.

    Args:
        function: importable by name (workers may be other machines); returns one outcome an item
            and turns the failure of an item into an outcome.
        items: small and picklable: paths, not arrays.
        progress: label of the progress bar.
        backend: one of `BACKENDS`; by default ``loky`` for 64 items and more on several cores, else
            ``serial``.
        jobs: workers; by default one a core.
        scheduler: address of a Dask scheduler, for ``dask``.

    Raises:
        ValueError: unknown backend.
        ImportError: the backend's package is missing; the message names the extra.
    """
    chunks = [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]
    backend = backend or _default_backend(len(items), jobs)
    if backend not in BACKENDS:
        raise ValueError(f"expected one of {', '.join(BACKENDS)} as backend, got {backend!r}")
    bar = tqdm(total=len(items), desc=progress, unit="sample", disable=not items)
    outcomes: list[Outcome] = []
    with bar:
        for chunk_outcomes in _run(function, chunks, backend, jobs or -1, scheduler):
            outcomes.extend(chunk_outcomes)
            bar.update(len(chunk_outcomes))
    return outcomes


def _default_backend(n_items: int, jobs: int | None) -> str:
    several = (jobs or os.cpu_count() or 1) > 1
    return "loky" if several and n_items >= _WORTH_WORKERS else "serial"


def _run(
    function: Callable[[Sequence[Item]], list[Outcome]],
    chunks: list[Sequence[Item]],
    backend: str,
    jobs: int,
    scheduler: str | None,
) -> Any:
    if backend == "serial":
        return map(function, chunks)
    from joblib import Parallel, delayed, parallel_config

    calls = [delayed(function)(chunk) for chunk in chunks]
    if backend == "ray":
        _register_ray()
        with parallel_config(backend="ray", n_jobs=jobs):
            # joblib's Ray backend cannot hand results out one by one.
            return Parallel()(calls)
    if backend == "dask":
        return _run_on_dask(calls, jobs, scheduler)
    return Parallel(n_jobs=jobs, backend=backend, return_as="generator")(calls)


def _register_ray() -> None:
    try:
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ImportError(
            'the ray backend needs Ray: pip install "medbench-vlmeval[ray]"'
        ) from error
    register_ray()


def _run_on_dask(calls: list[Any], jobs: int, scheduler: str | None) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            'the dask backend needs Dask: pip install "medbench-vlmeval[scale]"'
        ) from error
    from joblib import Parallel, parallel_config

    with Client(scheduler) as client:
        # Without the package on the scheduler joblib waits for ever, so ask every machine first.
        client.run(_package_version)
        client.run_on_scheduler(_package_version)
        with parallel_config(backend="dask", n_jobs=jobs):
            return Parallel()(calls)


def _package_version() -> str:
    from .. import __version__

    return __version__
