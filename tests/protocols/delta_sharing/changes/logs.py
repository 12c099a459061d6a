"""Tables for these tests, written action by action."""

from __future__ import annotations

from typing import Any

from support.gateways.shared_lake import LakeTable
from support.tables.deltalog import Action, add, metadata, protocol, remove

FEED = {"delta__enableChangeDataFeed": "true"}
FIRST_COMMIT = 1_700_000_000_000


def cdc(path: str, **values: Any) -> Action:
    """A `cdc` action."""
    return {"cdc": {"path": path, "partitionValues": {}, "size": 7, "dataChange": False, **values}}


def full_remove(path: str, **values: Any) -> Action:
    """A `remove` action with all that new writers say."""
    return remove(path, extendedFileMetadata=True, partitionValues={}, size=10, **values)


def commit(table: LakeTable, version: int, *actions: Action) -> None:
    """Write a commit; each is a minute later than the one before."""
    table.folder.commit(version, *actions, modified=timestamp(version))


def timestamp(version: int) -> int:
    """When a version was committed."""
    return FIRST_COMMIT + version * 60_000


def write_changing_table(table: LakeTable) -> None:
    """Six versions with one of each kind of commit: append, update with and without `cdc`, optimize."""
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, add("b", stats='{"numRecords":1}'), add("c"))
    commit(table, 2, add("d"), full_remove("a"), cdc("_change_data/x"), cdc("_change_data/y"))
    commit(table, 3, full_remove("b"))
    commit(table, 4, add("e", dataChange=False), full_remove("c", dataChange=False))
    commit(table, 5, {"commitInfo": {"operation": "WRITE"}}, add("f"), full_remove("d"))
