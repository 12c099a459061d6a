"""The worker compares small tables itself, and leaves all others to Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.formats import LogPart
from sluicegate_spark.conversion.to_iceberg.jobs import small_comparison as module
from sluicegate_spark.conversion.to_iceberg.jobs.difference import (
    Difference,
    Source,
    TooLargeForWorker,
    UnreadablePart,
)
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import read_object
from sluicegate_spark.conversion.to_iceberg.jobs.small_comparison import (
    SmallComparison,
    is_small,
)
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.manifests import ADDED, DELETED, EXISTING, Layout, records
from sluicegate_spark.conversion.to_iceberg.schema import columns_of
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import Row, SnapshotWriter
from sluicegate_spark.objects import ObjectAccess

from ..delta_parts import VECTOR, delta_field, delta_schema
from .local_access import access_to

LOCATION = "s3://b/t"
COLUMNS = columns_of(delta_schema(delta_field("id", "long"), delta_field("p", "integer")), {}, 0)
ENTRIES = EntryFormat(LOCATION, COLUMNS, [COLUMNS.top[1]])
LAYOUT = Layout(COLUMNS.schema, ENTRIES.partition, 0, [1000])


@dataclass
class Table:
    """A Delta table in a folder, and the manifests of its converted Iceberg table."""

    folder: Path

    async def objects(self) -> ObjectAccess:
        """See `TableAccess.objects`."""
        return access_to(self.folder)

    def writer(self, snapshot: int) -> SnapshotWriter:
        return SnapshotWriter(access_to(self.folder), LOCATION, LAYOUT, snapshot, snapshot, None)

    def add(self, name: str, partition: int = 1) -> dict[str, Any]:
        """Write a data file, and return the action that adds it."""
        path = self.folder / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [1, 2]}), path)
        return {
            "add": {
                "path": name,
                "size": path.stat().st_size,
                "partitionValues": {"p": str(partition)},
                "dataChange": True,
            }
        }

    def commit(self, version: int, *actions: Mapping[str, Any]) -> LogPart:
        name = f"{version:020}.json"
        return self.part(name, b"\n".join(map(orjson.dumps, actions)), version)

    def part(self, name: str, content: bytes, version: int) -> LogPart:
        folder = self.folder / "t/_delta_log"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        return LogPart(name, len(content), version)

    def manifest(self, *names: str, partition: int = 1) -> Row:
        """Write a manifest of files, and return its row."""
        values = ENTRIES.partition_values(orjson.dumps({"p": str(partition)}).decode())
        files = [ENTRIES.entry(f"{LOCATION}/{name}", 9, 2, None, values) for name in names]
        (row,) = self.writer(1).write(files)
        return row

    def compared(self, *manifests: Row, most: int = 10) -> SmallComparison:
        access: Any = self
        return SmallComparison(access, ENTRIES, manifests, most)

    def metadata(self) -> set[str]:
        return {each.name for each in (self.folder / "t/_iceberg").glob("*")}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def remove(name: str, partition: int = 1) -> dict[str, Any]:
    values = {"p": str(partition)}
    return {"remove": {"path": name, "partitionValues": values, "dataChange": True}}


def files_in(table: Table, rows: Sequence[Row]) -> dict[str, int]:
    """Return the status of each file in manifests, by its name."""
    access = access_to(table.folder)
    return {
        each["data_file"]["file_path"].removeprefix(f"{LOCATION}/"): each["status"]
        for row in rows
        for each in records(read_object(access, row["manifest_path"]))
    }


async def test_all_files_of_both_tables_are_compared(table: Table) -> None:
    first = table.commit(0, table.add("a"), table.add("b"), table.add("c"))
    parts = [first, table.commit(1, remove("c"), table.add("d", 2))]
    previous = table.manifest("b", "c")
    small = table.compared(previous)
    assert await small.difference(Source(parts, complete=True)) == Difference(2, {0: 1})
    checked = await small.check_added(2)
    assert checked.size == sum((table.folder / "t" / name).stat().st_size for name in "ad")
    rows = await small.write(table.writer(2), 2, {0: previous})
    assert files_in(table, rows) == {"a": ADDED, "b": EXISTING, "c": DELETED, "d": ADDED}
    assert sum(row["added_rows_count"] for row in rows) == 4


async def test_only_changed_files_are_looked_for_in_manifests_of_their_partitions(
    table: Table,
) -> None:
    kept, other = table.manifest("a", "b"), table.manifest("c", partition=2)
    (table.folder / "t/_iceberg" / other["manifest_path"].rpartition("/")[2]).unlink()
    changes = table.commit(5, remove("a"), table.add("b"), table.add("e"), remove("e"), remove("z"))
    small = table.compared(kept, other)
    assert await small.difference(Source([changes], complete=False)) == Difference(0, {0: 1})


async def test_a_manifest_of_another_spec_is_written_again_with_all_of_its_files(table: Table) -> None:
    previous = table.manifest("a", "b")
    small = table.compared(previous)
    nothing = table.commit(5, {"commitInfo": {}})
    assert await small.difference(Source([nothing], complete=False)) == Difference(0, {})
    rows = await small.write(table.writer(2), 0, {0: previous})
    assert files_in(table, rows) == {"a": EXISTING, "b": EXISTING}


@pytest.mark.parametrize("most", [1, 2])
async def test_more_files_than_expected_are_left_to_spark(table: Table, most: int) -> None:
    files = [table.add(f"{number}") for number in range(2 * most + 1)]
    gone = [remove(f"{number}") for number in range(most)]
    part = table.commit(0, *files), table.commit(1, *gone)
    before = table.metadata()
    with pytest.raises(TooLargeForWorker):
        await table.compared(most=most).difference(Source(part, complete=True))
    assert table.metadata() == before


async def test_a_long_footer_is_left_to_spark(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate_spark.conversion.to_iceberg.jobs.new_files._TAIL", 16)
    monkeypatch.setattr(module, "_LONGEST_FOOTER", 20)
    small = table.compared()
    await small.difference(Source([table.commit(0, table.add("a"))], complete=True))
    with pytest.raises(TooLargeForWorker):
        await small.check_added(1)


@pytest.mark.parametrize(
    ("action", "error", "said"),
    [
        ({"deletionVector": VECTOR}, UnsupportedOperation, "deletion vectors"),
        ({"path": "s3://b/other/x"}, UnsupportedOperation, "outside of its directory"),
        ({"path": "none"}, TableUnreadable, "missing or broken"),
        ({"partitionValues": {"p": "x"}}, TableUnreadable, "is not of type int"),
    ],
)
async def test_errors_are_those_of_executors(
    table: Table, action: dict[str, Any], error: type[Exception], said: str
) -> None:
    changed = {"add": {**table.add("a")["add"], **action}}
    small = table.compared()
    source = Source([table.commit(0, changed)], complete=True)
    with pytest.raises(error, match=said):
        await small.check_added((await small.difference(source)).added)


async def test_a_damaged_checkpoint_can_be_replaced_by_an_older_one(table: Table) -> None:
    source = Source([table.part("1.checkpoint.parquet", b"PAR1", -1)], complete=True)
    with pytest.raises(UnreadablePart) as raised:
        await table.compared().difference(source)
    assert raised.value.name == "1.checkpoint.parquet"
    commit = table.part(f"{2:020}.json", b"{", 2)
    with pytest.raises(TableUnreadable):
        await table.compared().difference(Source([commit], complete=True))


@pytest.mark.parametrize(
    ("most", "live", "size", "small"),
    [(10, 10, 1, True), (10, 11, 1, False), (0, 0, 1, False), (10, 1, 33_000_000, False)],
)
def test_sizes_decide_what_is_small(*, most: int, live: int, size: int, small: bool) -> None:
    row = {"added_files_count": live, "existing_files_count": 0, "manifest_length": 1}
    assert is_small(Source([LogPart("x", size, 0)], complete=True), [row], most) is small
    assert is_small(Source([], complete=True), [{**row, "manifest_length": size}], most) is small
