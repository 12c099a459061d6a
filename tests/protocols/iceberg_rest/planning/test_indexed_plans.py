"""Plans of tables with a snapshot index have the tasks of plans from the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import orjson
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gateways.memory_gateway import KEYS, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.process.random_cases import cases
from support.tables.deltalog import DeltaFolder
from support.tables.iceberg_views import Prefixed, body, iceberg_filter, iceberg_shape
from support.tables.indexed import (
    index_folder,
    indexed,
    indexed_tables,
    rows_of,
    snapshot_of,
    write_index,
)
from support.tables.memory_tables import METADATA, file, snapshot
from support.tables.predicate_tables import tables, trees
from support.tables.random_log import VECTOR_NAME, RandomTable
from support.tables.snapshots import latest

from sluicegate.api import SluicegateError
from sluicegate.protocols.common.shared_scope import visible
from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import PuffinVectors, StoredVectors
from sluicegate.protocols.iceberg_rest.planning import plan_scan as planner_module
from sluicegate.protocols.iceberg_rest.planning.candidates import without_others
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlobs
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.delta.log import DeltaState
from sluicegate.tables.partitions import in_partitions
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index import selection
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot

PAGE = 3
TOKENS = PlanTokens(TokenSigner(KEYS, 60))
BLOBS: Mapping[Dialect, VectorBlobs] = {
    Dialect.STANDARD: StoredVectors(),
    Dialect.PYICEBERG: PuffinVectors(),
}
COUNTRY = {"type": "eq", "term": "country", "value": "DE"}
ID = {"type": "gt", "term": "id", "value": 40}
FILTERS: tuple[Any, ...] = (
    None,
    False,
    COUNTRY,
    ID,
    {"type": "and", "left": COUNTRY, "right": ID},
    {"type": "or", "left": {"type": "is-null", "term": "country"}, "right": ID},
    {"type": "and", "left": {"type": "not-eq", "term": "country", "value": "FR"}, "right": ID},
    {"type": "eq", "term": "id", "value": -1},
)


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder(tmp_path / "table")


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> ScanPlanner:
    monkeypatch.setattr(planner_module, "page_size", lambda residual: PAGE)
    return ScanPlanner(TableReader({}, 0), TOKENS, BLOBS)


async def view_of(
    snapshot: Snapshot | IndexedSnapshot, files: FileSet | IndexedFiles | None = None
) -> TableView:
    table = await memory_gateway().open(shared_table(), ACME)
    shape = iceberg_shape(snapshot.metadata)
    files = snapshot.files if files is None else files
    if isinstance(snapshot, Snapshot) and isinstance(files, FileSet):
        return IcebergView(table, snapshot, files, shape, Prefixed())
    if isinstance(files, IndexedFiles):
        state = cast("DeltaState", snapshot.state)
        snapshot = IndexedSnapshot(
            snapshot.version, snapshot.timestamp, snapshot.protocol, snapshot.metadata, files, state
        )
    return TableView(table, snapshot, files, shape, Prefixed())


def stats(value: int) -> str:
    return json.dumps({"numRecords": 3, "minValues": {"id": value}, "maxValues": {"id": value}})


def request_of(
    filter_: Any, dialect: Dialect = Dialect.STANDARD, more: Mapping[str, Any] = MappingProxyType({})
) -> PlanRequest:
    fields = {} if filter_ is None else {"filter": filter_}
    return PlanRequest.parse(orjson.dumps({**fields, **more}), dialect)


async def planned(planner: ScanPlanner, view: TableView, request: PlanRequest) -> list[list[str]]:
    """The tasks of each page, in the order of pages, with what they refer to."""
    answer = await body(await planner.plan(view, request))
    pages = [_tasks(answer)]
    for token in answer["plan-tasks"]:
        task = TOKENS.open_task(view.table.principal, view.table.shared, token)
        answer = await body(await planner.tasks(view, task))
        assert answer["plan-tasks"] == []
        pages.append(_tasks(answer))
    return pages


def _tasks(answer: Mapping[str, Any]) -> list[str]:
    tasks = []
    for task in answer["file-scan-tasks"]:
        deleted = [answer["delete-files"][at] for at in task.pop("delete-file-references", [])]
        tasks.append(json.dumps([task, deleted], sort_keys=True))
    return sorted(tasks)


async def outcome(planner: ScanPlanner, view: TableView, request: PlanRequest) -> Any:
    """The pages, or the kind of error."""
    try:
        return await planned(planner, view, request)
    except SluicegateError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(cases(4)))
async def test_later_commits_are_planned(planner: ScanPlanner, folder: DeltaFolder, seed: int) -> None:
    """Files that were added, removed, and got deletion vectors since the index was written."""
    table = RandomTable(folder, seed)
    while table.version < 5:
        table.commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder), part_rows=3)
    for _ in range(3):
        table.commit()
    found = await indexed_tables(indexes).snapshot(folder.table(), folder.directory)
    assert found is not None
    stored = await latest(folder)
    for of_all in ("", "country = 'DE'"):
        shared = shared_table(partition_filter=of_all or None)
        files = await visible(shared, ACME, found.metadata, found.files)
        expected = await visible(shared, ACME, stored.metadata, stored.files)
        for filter_ in FILTERS:
            request = request_of(filter_, more={"stats-fields": ["id"]})
            pages = await planned(planner, await view_of(found, files), request)
            assert pages == await planned(planner, await view_of(stored, expected), request)


@given(data=st.data())
@settings(
    max_examples=cases(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
async def test_random_filters_leave_the_same_tasks(data: st.DataObject) -> None:
    table = data.draw(tables())
    tree = data.draw(trees(table, [*table.columns, *table.partitions], casts=False))
    texts = sorted({partition for partition, _ in table.log})
    chosen = [json.loads(text) for text in data.draw(st.sets(st.sampled_from(texts)))]
    snapshot = snapshot_of(table.files, table.metadata)
    files = indexed(index_folder(), snapshot)
    names = [".".join(column.path) for column in table.columns]
    fields = {"filter": iceberg_filter(tree), "case-sensitive": False, "stats-fields": names}
    try:
        request = PlanRequest.parse(json.dumps(fields, allow_nan=False).encode())
    except ValueError:  # JSON has no NaN and no infinity
        return
    planner = ScanPlanner(TableReader({}, 0), TOKENS, BLOBS)
    for wanted in (lambda _: True, lambda values: values in chosen):
        found = await view_of(snapshot, files.in_partitions(wanted))
        expected = await view_of(snapshot, in_partitions(snapshot.files, wanted))
        assert await outcome(planner, found, request) == await outcome(planner, expected, request)


async def small_table() -> tuple[TableView, TableView]:
    """A table in an index and in memory, with a file that has an inline vector, and with others."""
    vector = {"storageType": "i", "pathOrInlineDv": "x" * 50, "sizeInBytes": 40, "cardinality": 2}
    rows = (
        file("a", stats=stats(1)),
        file("b", stats=stats(5)),
        file("c", stats=stats(9), deletion_vector=vector),
    )
    table = snapshot_of(snapshot(*rows).files, METADATA)
    return await view_of(table, indexed(index_folder(), table)), await view_of(table)


@pytest.mark.parametrize("filter_", [None, {"type": "lt", "term": "id", "value": 9}])
async def test_many_files_are_planned_from_the_log(
    planner: ScanPlanner, monkeypatch: pytest.MonkeyPatch, filter_: Any
) -> None:
    found, stored = await small_table()
    request = request_of({"type": "lt", "term": "id", "value": 5})
    assert await planned(planner, found, request) == await planned(planner, stored, request)
    monkeypatch.setattr(selection, "MOST_KEPT", 1)
    assert await planned(planner, found, request) == await planned(planner, stored, request)
    with pytest.raises(IndexUnsuitable, match="more than 1 files"):
        await planner.plan(found, request_of(filter_))


@pytest.mark.parametrize("dialect", Dialect)
async def test_generated_deletion_vectors_need_the_log(planner: ScanPlanner, dialect: Dialect) -> None:
    """Their files contain the vectors of all data files."""
    found, stored = await small_table()
    without = request_of({"type": "lt", "term": "id", "value": 9}, dialect)
    assert await planned(planner, found, without) == await planned(planner, stored, without)
    with pytest.raises(IndexUnsuitable, match="generated"):
        await planner.plan(found, request_of({"type": "eq", "term": "id", "value": 9}, dialect))


async def test_stored_deletion_vectors_need_the_log_only_for_complete_files(
    planner: ScanPlanner,
) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": VECTOR_NAME, "sizeInBytes": 40, "cardinality": 2}
    table = snapshot_of(snapshot(file("a", deletion_vector=vector)).files, METADATA)
    found, stored = await view_of(table, indexed(index_folder(), table)), await view_of(table)
    request = request_of(None)
    assert await planned(planner, found, request) == await planned(planner, stored, request)
    with pytest.raises(IndexUnsuitable, match="generated"):
        await planner.plan(found, request_of(None, Dialect.PYICEBERG))


async def test_pages_are_read_from_the_index_if_the_first_one_was(planner: ScanPlanner) -> None:
    """Otherwise, each page of a plan that needs the log would be tried with the index before."""
    table = snapshot_of(snapshot(*(file(f"f{number}") for number in range(PAGE + 1))).files, METADATA)
    for view in (await view_of(table, indexed(index_folder(), table)), await view_of(table)):
        answer = await body(await planner.plan(view, request_of(None)))
        principal, shared = view.table.principal, view.table.shared
        again = TOKENS.open_plan(principal, shared, answer["plan-id"])
        (token,) = answer["plan-tasks"]
        task = TOKENS.open_task(principal, shared, token)
        assert again.with_index is task.with_index is view.indexed


async def test_incremental_scans_need_the_log(planner: ScanPlanner) -> None:
    table = snapshot_of(snapshot(file("a")).files, METADATA)
    shared = await memory_gateway().open(shared_table(history=True), ACME)
    found = replace(await view_of(table, indexed(index_folder(), table)), table=shared)
    more = {"start-snapshot-id": 7, "end-snapshot-id": 8}
    with pytest.raises(IndexUnsuitable, match="all files"):
        await planner.plan(found, request_of(None, more=more))


async def test_a_response_keeps_only_the_files_of_its_page() -> None:
    rows = [file(f"f{number}") for number in range(6)]
    files = snapshot(*rows).files.where(pa.array([False, True, True, False, False, False]))
    copied = without_others(files)
    assert rows_of(copied) == rows_of(files)
    assert copied.table.num_rows == 2
