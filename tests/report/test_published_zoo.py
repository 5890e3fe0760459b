"""The zoo names of the ledger are names of the host's zoo, and name one model each."""

from __future__ import annotations

from collections import Counter

import pytest

from medbench_vlmeval.report.published import tables

pytestmark = pytest.mark.host


def test_the_zoo_has_every_name() -> None:
    from vlmeval.config import supported_VLM

    names = {name for table in tables() for row in table.rows for name in row.zoo}
    assert len(names) > 40
    assert names - set(supported_VLM) == set()


def test_no_table_gives_a_name_to_two_models() -> None:
    for table in tables():
        names = Counter(name for row in table.rows for name in row.zoo)
        assert max(names.values(), default=1) == 1, table.id
