"""Batches and replicas of an editor, with the data set that the real host would hand it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.editing import read_edit_reply
from medbench_vlmeval.types import Status

from ..data.packs import MEDEBENCH, lend_packs

pytestmark = pytest.mark.host


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    lend_packs(tmp_path / "LMUData", MEDEBENCH)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    from vlmeval.dataset import build_dataset

    return build_dataset("MedEBench_sample")


def editor(**arguments: Any) -> Any:
    from medbench_vlmeval.models.base import EditRequest, ImageEditor

    class Batching(ImageEditor):
        sizes: list[int]

        def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
            pixels = np.asarray(image).copy()
            pixels[0, 0] = (seed % 256, seed // 256 % 256, 7)
            return Image.fromarray(pixels)

        def edit_requests(
            self, requests: Sequence[EditRequest]
        ) -> Sequence[Image.Image | bytes | Exception]:
            self.sizes.append(len(requests))
            return super().edit_requests(requests)

    made = Batching(**arguments)
    made.sizes = []
    return made


def ask(model: Any, dataset: Any, positions: Sequence[int]) -> list[str]:
    model.set_dump_image(dataset.dump_image)
    rows = [dataset.data.iloc[position] for position in positions]
    return [model.generate(dataset.build_prompt(row), dataset.dataset_name) for row in rows]


def test_a_batch_takes_in_what_the_host_asks_next(dataset: Any) -> None:
    batching = editor(batch_size=4)
    n = len(dataset.data)
    lines = ask(batching, dataset, range(n))
    assert batching.sizes == [4] * (n // 4) + ([n % 4] if n % 4 else [])
    one_by_one = editor(name="Batching", seed=0, reuse_edits=False)
    assert ask(one_by_one, dataset, range(n)) == lines


def test_a_rank_looks_ahead_among_its_own_questions(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    batching = editor(batch_size=3)
    own = range(1, len(dataset.data), 2)
    ask(batching, dataset, own)
    assert sum(batching.sizes) == len(own)
    assert batching.sizes[0] == 3


def test_without_a_data_set_nothing_is_taken_in(dataset: Any) -> None:
    batching = editor(batch_size=4)
    batching.generate(dataset.build_prompt(0), dataset.dataset_name)
    assert batching.sizes == [1]


def test_replicas_travel_in_one_line_and_the_first_is_the_usual_one(dataset: Any) -> None:
    (line,) = ask(editor(replicas=3), dataset, [0])
    reply = read_edit_reply(line)
    (alone,) = ask(editor(), dataset, [0])
    assert reply.stored == read_edit_reply(alone).stored
    assert len({reply.seed, *(it.seed for it in reply.replicas)}) == 3
    assert all(it.stored is not None for it in reply.replicas)
    assert not read_edit_reply(alone).replicas


def test_a_second_run_edits_nothing_and_more_replicas_only_those_that_are_new(
    dataset: Any,
) -> None:
    ask(editor(replicas=2), dataset, [0])
    again = editor(replicas=2)
    ask(again, dataset, [0])
    assert again.sizes == []
    more = editor(replicas=3)
    ask(more, dataset, [0])
    assert more.sizes == [1]


def test_a_replica_that_fails_leaves_its_place_and_a_first_that_fails_is_no_image(
    dataset: Any,
) -> None:
    from medbench_vlmeval.models.base import EditRequest, no_image

    class Failing(type(editor())):  # type: ignore[misc]
        fails_at = 1

        def edit_request(self, request: EditRequest) -> Image.Image | bytes:
            if request.replica == self.fails_at:
                raise no_image("nothing to see")
            return super().edit_request(request)

    failing = Failing(replicas=3)
    failing.sizes = []
    (line,) = ask(failing, dataset, [0])
    assert [it.stored is None for it in read_edit_reply(line).replicas] == [True, False]
    failing = Failing(replicas=3, reuse_edits=False)
    failing.sizes, failing.fails_at = [], 0
    (line,) = ask(failing, dataset, [0])
    assert read_edit_reply(line).status is Status.MISSING


def test_a_number_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="replicas and batch_size"):
        editor(replicas=0)


def test_one_failure_in_a_batch_is_one_failed_call_and_asked_again(dataset: Any) -> None:
    from medbench_vlmeval.models.base import EditRequest

    class Breaking(type(editor())):  # type: ignore[misc]
        breaks = True

        def edit_requests(
            self, requests: Sequence[EditRequest]
        ) -> Sequence[Image.Image | bytes | Exception]:
            made: list[Image.Image | bytes | Exception] = list(super().edit_requests(requests))
            if self.breaks and len(made) > 1:
                made[1] = RuntimeError("out of luck")
            return made

    breaking = Breaking(batch_size=3)
    breaking.sizes = []
    lines = ask(breaking, dataset, [0])
    assert read_edit_reply(lines[0]).status is Status.ANSWER
    breaking.breaks = False
    lines = ask(breaking, dataset, [1, 2])
    assert [read_edit_reply(line).status for line in lines] == [Status.ANSWER] * 2
    # 1 failed and is asked again, 2 was made with 0
    assert breaking.sizes == [3, 3]
    lonely = Breaking(batch_size=2, reuse_edits=False, name="lonely", replicas=2)
    lonely.sizes = []
    (line,) = ask(lonely, dataset, [3])
    assert [it.stored is None for it in read_edit_reply(line).replicas] == [True]
