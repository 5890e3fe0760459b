from __future__ import annotations

import re
from pathlib import Path

import pytest

from medbench_vlmeval.data import MEDQ_TABLES, prepare_medq_sample
from medbench_vlmeval.data.medq_columns import MEDQ_ALIASES

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## MedQ-Bench")[2].partition("## Licence")[0]
PUBLISHED = [table for table in MEDQ_TABLES if table.files]


@pytest.mark.parametrize("table", PUBLISHED, ids=lambda table: table.name)
def test_the_page_lists_every_table_with_its_files_and_size(table):
    (line,) = (line for line in SECTION.splitlines() if line.startswith(f"| `{table.name}` |"))
    assert all(f"`{file}`" in line for file in table.files)
    assert str(table.n_published or "not known") in line
    assert all(f"{name} {count}" in line for name, count in table.n_by_type.items())


def test_the_page_lists_the_names_of_every_column():
    # spellings that differ from a listed one in separators only need no mention
    words = {re.sub("_", "", word) for word in re.findall(r"`([a-z_]+)`", SECTION)}
    named = [alias for aliases in MEDQ_ALIASES.values() for alias in aliases]
    assert [alias for alias in named if re.sub("_", "", alias) not in words] == []


def test_the_page_shows_what_preparing_the_sample_pack_prints():
    report = prepare_medq_sample("MedQ_MCQ_sample")
    for line in report.lines():
        if line.split()[0] not in ("revision", "written", "fingerprint"):
            assert line in PAGE
