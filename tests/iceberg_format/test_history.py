"""Snapshots as versions: time travel, timestamps, changes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.table import Table
from support.clients.recipient import refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import change_metadata, data_files, delete_positions
from support.tables.rows import assert_same_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {id}" for id in ids]})


def written(lake: IcebergSharing, format_version: int = 2) -> tuple[str, Table]:
    """Five versions, as an overwrite is a delete and an append: 1 to 5 in format version 2."""
    name, table = lake.table(rows(1).schema, format_version=format_version)
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5))
    table.delete("id = 2")
    table.overwrite(rows(9), "id = 4")
    return name, table


def at(snapshot_timestamp: int) -> str:
    return datetime.fromtimestamp(snapshot_timestamp / 1000, UTC).isoformat(timespec="milliseconds")


@pytest.mark.parametrize("format_version", [1, 2])
def test_every_snapshot_is_a_version(lake: IcebergSharing, format_version: int) -> None:
    name, table = written(lake, format_version)
    for snapshot in table.snapshots():
        wanted = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        version = snapshot.timestamp_ms if format_version == 1 else snapshot.sequence_number
        assert_same_rows(wanted, lake.recipient.read(name, version=version))
        timestamp = at(snapshot.timestamp_ms)
        assert_same_rows(wanted, lake.recipient.read(name, timestamp=timestamp))


def test_versions_keep_their_numbers_when_older_snapshots_expire(lake: IcebergSharing) -> None:
    name, table = written(lake)
    first, second, *_ = table.snapshots()
    wanted = table.scan(snapshot_id=table.snapshots()[-2].snapshot_id).to_arrow()
    table.maintenance.expire_snapshots().by_ids([first.snapshot_id, second.snapshot_id]).commit()
    assert_same_rows(wanted, lake.recipient.read(name, version=table.snapshots()[-2].sequence_number))
    gone = refusal_of(lambda: lake.recipient.read(name, version=second.sequence_number))
    assert (gone.status, "has expired" in gone.message) == (400, True)
    untold = refusal_of(
        lambda: lake.recipient.changes(name, use_delta_format=False, starting_version=1)
    )
    assert (untold.status, "expired" in untold.message) == (400, True)


def test_versions_that_were_read_before_are_gone_when_they_are_rolled_back(
    lake: IcebergSharing,
) -> None:
    name, table = written(lake)
    withdrawn = versions(table)[-2]
    assert set(lake.recipient.read(name, version=withdrawn)["id"]) == {1, 3, 5}
    table.manage_snapshots().set_current_snapshot(table.snapshots()[1].snapshot_id).commit()
    gone = refusal_of(lambda: lake.recipient.read(name, version=withdrawn))
    assert (gone.status, "does not exist or has expired" in gone.message) == (400, True)


def test_a_rollback_goes_back_to_the_version(lake: IcebergSharing) -> None:
    name, table = written(lake)
    table.manage_snapshots().set_current_snapshot(table.snapshots()[1].snapshot_id).commit()
    assert sorted(lake.recipient.read(name)["id"]) == [1, 2, 3, 4, 5]
    last = table.last_sequence_number
    table.append(rows(6))
    assert sorted(lake.recipient.read(name)["id"]) == [1, 2, 3, 4, 5, 6]
    assert len(lake.recipient.read(name, version=last + 1)) == 6
    assert refusal_of(lambda: lake.recipient.read(name, version=last)).status == 400
    told = lake.recipient.changes(name, use_delta_format=False, starting_version=3)
    assert list(told["id"]) == [6]


@pytest.mark.parametrize("format_version", [1, 2])
def test_a_reader_of_what_was_rolled_back_receives_no_changes(
    lake: IcebergSharing, format_version: int
) -> None:
    name, table = written(lake, format_version)
    first, second, third, *_, last = versions(table)
    table.manage_snapshots().set_current_snapshot(table.snapshots()[1].snapshot_id).commit()
    table.append(rows(6))
    for seen in (third, last):
        refused = refusal_of(
            partial(lake.recipient.changes, name, use_delta_format=False, starting_version=seen + 1)
        )
        assert (refused.status, "was rolled back" in refused.message) == (400, True)
    for seen, ids in ((second, [6]), (first, [4, 5, 6])):
        told = lake.recipient.changes(name, use_delta_format=False, starting_version=seen + 1)
        assert list(told["id"]) == ids


@pytest.mark.parametrize("expired", [False, True])
def test_a_reader_from_before_a_replacement_receives_no_changes(
    lake: IcebergSharing, expired: bool
) -> None:
    name, table = written(lake)
    table.append(rows(6))
    as_replaced(table, expired=expired)
    for start in (2, 6):
        refused = refusal_of(
            partial(lake.recipient.changes, name, use_delta_format=False, starting_version=start)
        )
        assert (refused.status, "or replaced" in refused.message) == (400, True)
    told = lake.recipient.changes(name, use_delta_format=False, starting_version=0)
    assert set(told["_commit_version"]) == {6}


def test_a_first_snapshot_needs_none_before_it(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(1).schema)
    table.append(rows(1, 2))
    change_metadata(
        table, lambda metadata: metadata["snapshots"][0]["summary"].update(operation="overwrite")
    )
    told = lake.recipient.changes(name, use_delta_format=False, starting_version=1)
    assert list(told["id"]) == [1, 2]


@pytest.mark.parametrize("use_delta_format", [False, True], ids=["parquet", "delta"])
def test_changes_are_the_rows_that_came_and_went(lake: IcebergSharing, use_delta_format: bool) -> None:
    name, table = written(lake)
    if use_delta_format:
        delete_positions(table, {data_files(table)[0]: [0]})
        delete_positions(table, {path: [0] for path in data_files(table)[:2]})
    told = lake.recipient.changes(name, use_delta_format=use_delta_format, starting_version=1)
    contents: Counter[Any] = Counter()
    for snapshot in table.snapshots():
        wanted = Counter(_rows_of(table.scan(snapshot_id=snapshot.snapshot_id).to_pandas()))
        here = told[told["_commit_version"] == snapshot.sequence_number]
        contents.update(_rows_of(here[here["_change_type"] == "insert"]))
        contents.subtract(_rows_of(here[here["_change_type"] == "delete"]))
        assert +contents == wanted
        assert min(contents.values(), default=0) >= 0


def test_a_version_that_changed_no_row_has_no_changes(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(1).schema)
    table.append(rows(1, 2, 3))
    (file,) = data_files(table)
    for _ in range(2):
        delete_positions(table, {file: [0]})
    told = lake.recipient.changes(name, use_delta_format=True, starting_version=3)
    assert told.empty
    told = lake.recipient.changes(name, use_delta_format=True, starting_version=2)
    assert [*zip(told["id"], told["_change_type"], strict=True)] == [(1, "delete")]


def versions(table: Table) -> list[int]:
    """What recipients call the snapshots of a table."""
    first = table.metadata.format_version == 1
    return [each.timestamp_ms if first else each.sequence_number or 0 for each in table.snapshots()]


def as_replaced(table: Table, *, expired: bool) -> None:
    """The newest snapshot has no parent and the table no past (`REPLACE TABLE`); its last change."""

    def forget(metadata: dict[str, Any]) -> None:
        *others, newest = metadata["snapshots"]
        del newest["parent-snapshot-id"]
        newest["summary"]["total-data-files"] = newest["summary"]["added-data-files"]
        metadata["snapshots"] = [newest] if expired else [*others, newest]
        metadata["snapshot-log"] = metadata["snapshot-log"][-1:]

    change_metadata(table, forget)


def _rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(frame[["id", "name"]].itertuples(index=False, name=None))
