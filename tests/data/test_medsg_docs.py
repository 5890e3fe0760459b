from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.data import MEDSG_TASKS, prepare_medsg_sample

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("task", MEDSG_TASKS, ids=lambda task: task.key)
def test_the_page_lists_every_task_with_its_data_set_and_count(task):
    assert f"| `{task.dataset}` | {task.n_published} | `{task.key}` |" in PAGE


def test_the_page_shows_what_preparing_the_sample_pack_prints():
    report = prepare_medsg_sample()
    for line in report.lines():
        if line.split()[0] not in ("revision", "written", "fingerprint"):
            assert line in PAGE
