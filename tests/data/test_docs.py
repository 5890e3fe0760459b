from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.data import checks, columns
from medbench_vlmeval.data.places import ROLE_FOLDERS

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("problem", checks.ROI_PROBLEMS.values())
def test_the_page_explains_every_problem_of_a_mask(problem):
    assert f"`{problem}`" in PAGE


def test_the_page_names_the_folders_and_the_ways_to_name_columns():
    assert all(f"{folder}/{{id}}.png" in PAGE for folder in ROLE_FOLDERS.values())
    assert f"--column id={columns.ROW_NUMBER}" in PAGE
    assert f"--column roi={columns.NO_COLUMN}" in PAGE
