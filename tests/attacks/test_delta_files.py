"""Files of a Delta log that cost their reader far more than their writer."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from support.attacked import Attacked
from support.deltalog import add, metadata, protocol
from support.shared_lake import LakeTable

_MB = 1_000_000
# What any query may take: a few requests' worth of buffers, and what the allocator rounds up.
SMALL = 100 * _MB
HEAD = (protocol(), metadata())


def query(attacked: Attacked, table: LakeTable) -> httpx.Response:
    """What the attacker's own query of its table is answered with."""
    return attacked.attacker.post(f"{table.path()}/query", json={})


def unreadable(answer: httpx.Response) -> str:
    """The message of an answer that says that the table cannot be read."""
    assert answer.status_code == 400, answer.text[:500]
    error = answer.json()
    assert error["errorCode"] == "TABLE_UNREADABLE"
    return str(error["message"])


@pytest.fixture
def table(attacked: Attacked) -> LakeTable:
    """A table of the attacker, with one file."""
    table = attacked.lake.table()
    table.folder.commit(0, *HEAD, add("a.parquet"))
    return table


def _touch(log: Path, name: str) -> None:
    (log / name).write_text("")


@pytest.mark.parametrize(
    "name",
    [
        f"{1:020}.{0:020}.compacted.json",
        f"{0:020}.{0:020}.compacted.json",
        f"{0:020}.{'9' * 20}.compacted.json",
        f"{'9' * 20}.json",
        f"{2**63:020}.checkpoint.parquet",
        f"{0:020}.checkpoint.{1:010}.{'9' * 10}.parquet",
        f"{0:020}.checkpoint.{0:010}.{1:010}.parquet",
    ],
)
def test_a_name_that_no_writer_gives_is_not_a_file_of_the_log(
    attacked: Attacked, table: LakeTable, name: str
) -> None:
    table.folder.commit(1, add("b.parquet"))
    table.folder.commit(2, add("c.parquet"))
    _touch(table.folder.log, name)
    with attacked.watched() as watch:
        answer = query(attacked, table)
    watch.check(growth=SMALL)
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["delta-table-version"] == "2"
    assert len(answer.text.splitlines()) == 5
