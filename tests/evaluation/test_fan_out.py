from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from medbench_vlmeval.evaluation import fan_out
from medbench_vlmeval.evaluation.fan_out import map_chunks


def doubled(numbers: Sequence[int]) -> list[int]:
    return [2 * number for number in numbers]


@pytest.mark.parametrize("backend", [None, "serial", "threading", "loky"])
@pytest.mark.parametrize("n_items", [0, 1, 16, 37])
def test_results_come_in_order_on_every_backend(backend: str | None, n_items: int) -> None:
    items = list(range(n_items))
    assert map_chunks(doubled, items, progress="", backend=backend, jobs=2) == doubled(items)


def test_few_items_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert fan_out._default_backend(63, None) == "serial"
    assert fan_out._default_backend(64, None) == "loky"
    assert fan_out._default_backend(10_000, 1) == "serial"


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="serial, loky, threading, dask, ray"):
        map_chunks(doubled, [1], progress="", backend="spark")


@pytest.mark.parametrize(
    ("backend", "module"), [("ray", "ray.util.joblib"), ("dask", "distributed")]
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, backend: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="pip install"):
        map_chunks(doubled, [1], progress="", backend=backend)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same() -> None:
    import distributed

    items = list(range(40))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        found = map_chunks(doubled, items, progress="", backend="dask", scheduler=address)
    assert found == doubled(items)
