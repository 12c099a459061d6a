"""Change feeds whose version numbers have gaps, as the official client's Delta kernel reads them."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.table import Table
from support.clients.recipient import refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import change_metadata

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning")

HOUR = 3_600_000
FORMATS = pytest.mark.parametrize("use_delta_format", [False, True], ids=["parquet", "delta"])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture(scope="module")
def branched(lake: IcebergSharing) -> str:
    """A table with versions 1, 2, 4 and 6: another branch took 3 and 5."""
    name, table = lake.table(rows(1).schema)
    table.append(rows(1))
    table.append(rows(2))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.manage_snapshots().create_branch(snapshot.snapshot_id, "other").commit()
    table.append(rows(30), branch="other")
    table.append(rows(4))
    table.append(rows(50), branch="other")
    table.append(rows(6))
    return name


@FORMATS
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"starting_version": 0}, [(1, 1), (2, 2), (4, 4), (6, 6)]),
        ({"starting_version": 1}, [(1, 1), (2, 2), (4, 4), (6, 6)]),
        ({"starting_version": 3}, [(4, 4), (6, 6)]),
        ({"starting_version": 0, "ending_version": 1}, [(1, 1)]),
        ({"starting_version": 2, "ending_version": 3}, [(2, 2)]),
        ({"starting_version": 3, "ending_version": 5}, [(4, 4)]),
        ({"starting_version": 5, "ending_version": 9}, [(6, 6)]),
        ({"starting_timestamp": "1970-01-01T00:00:00Z"}, [(1, 1), (2, 2), (4, 4), (6, 6)]),
    ],
)
def test_a_range_may_start_and_end_in_a_gap(
    lake: IcebergSharing,
    branched: str,
    use_delta_format: bool,
    bounds: dict[str, Any],
    expected: list[tuple[int, int]],
) -> None:
    told = lake.recipient.changes(branched, use_delta_format=use_delta_format, **bounds)
    assert changes_in(told) == expected


@FORMATS
@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (3, 3, "no version from 3 to 3: .* the next one is 4, the one before it is 2"),
        (5, 5, "no version from 5 to 5: .* the next one is 6, the one before it is 4"),
        (0, 0, "no version from 0 to 0: .* the next one is 1"),
    ],
)
def test_a_range_within_a_gap_names_its_neighbours(
    lake: IcebergSharing, branched: str, use_delta_format: bool, start: int, end: int, expected: str
) -> None:
    refused = refusal_of(
        lambda: lake.recipient.changes(
            branched, use_delta_format=use_delta_format, starting_version=start, ending_version=end
        )
    )
    assert refused.status == 400
    assert re.search(expected, refused.message)


def test_a_start_whose_parent_expired_is_refused_and_the_first_one_named(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(1).schema)
    for number in (1, 2, 3):
        table.append(rows(number))
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    refused = refusal_of(
        lambda: lake.recipient.changes(name, use_delta_format=True, starting_version=0)
    )
    assert (refused.status, "start from version 3" in refused.message) == (400, True)
    told = lake.recipient.changes(name, use_delta_format=True, starting_version=3)
    assert changes_in(told) == [(3, 3)]


def aged(lake: IcebergSharing) -> tuple[str, Table]:
    """A table of format version 1 whose two snapshots are an hour apart."""
    name, table = lake.table(rows(1).schema, format_version=1)
    table.append(rows(1))
    table.append(rows(2))

    def age(metadata: dict[str, Any]) -> None:
        for part in (metadata["snapshots"], metadata["snapshot-log"]):
            part[0]["timestamp-ms"] -= HOUR

    change_metadata(table, age)
    return name, table.refresh()


def test_versions_that_are_times_are_read_in_parquet_format(lake: IcebergSharing) -> None:
    name, table = aged(lake)
    first, last = (snapshot.timestamp_ms for snapshot in table.snapshots())
    for start in (0, first):
        told = lake.recipient.changes(name, use_delta_format=False, starting_version=start)
        assert changes_in(told) == [(1, first), (2, last)]
        refused = refusal_of(
            partial(lake.recipient.changes, name, use_delta_format=True, starting_version=start)
        )
        assert refused.status == 400
        assert "responseformat=parquet" in refused.message
        assert "format version 2" in refused.message


def test_one_version_that_is_a_time_is_read_in_delta_format(lake: IcebergSharing) -> None:
    name, table = aged(lake)
    first, last = (snapshot.timestamp_ms for snapshot in table.snapshots())
    for number, start, end in ((1, first, first), (2, last - 5000, last)):
        told = lake.recipient.changes(
            name, use_delta_format=True, starting_version=start, ending_version=end
        )
        assert changes_in(told) == [(number, (first, last)[number - 1])]


def changes_in(told: pd.DataFrame) -> list[tuple[int, int]]:
    """Ids and versions of the inserted rows."""
    assert set(told["_change_type"]) == {"insert"}
    return sorted(zip(told["id"].tolist(), told["_commit_version"].tolist(), strict=True))
