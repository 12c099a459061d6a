"""A log that several machines read in parts says the same as a snapshot, and what changed since."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove
from support.tables.reader_tables.served import Unreadable
from support.tables.reader_tables.tables import ReaderTables, served_tables
from support.tables.snapshots import latest, rows

from sluicegate.api import NotFound, TableUnreadable
from sluicegate.formats import DeltaVersion, LogPart, latest_delta_version, read_log_part

SERVED = served_tables()
READABLE = [name for name, served in SERVED.items() if not served.unreadable]
UNREADABLE = {name: served.unreadable for name, served in SERVED.items() if served.unreadable}
# The most memory of Python's objects and of Arrow's columns while a version is determined.
PEAK = """
import sys, tracemalloc
from pathlib import Path
import anyio
import pyarrow as pa
from obstore.store import LocalStore
from sluicegate.api import CatalogTable, ObjectDirectory
from sluicegate.formats import latest_delta_version
root = Path(sys.argv[1])
table = CatalogTable("t", "delta", f"file://{root}")
directory = ObjectDirectory(LocalStore(str(root.parent)), root.name)
before = pa.default_memory_pool().max_memory()
tracemalloc.start()
version = anyio.run(latest_delta_version, table, directory)
assert len(version.parts) == 1
print(tracemalloc.get_traced_memory()[1] + pa.default_memory_pool().max_memory() - before)
"""
HEAD = [protocol(3, "v2Checkpoint"), metadata()]


async def version_of(folder: DeltaFolder, *without: str) -> DeltaVersion:
    return await latest_delta_version(folder.table(), folder.directory, without)


def newest(folder: DeltaFolder, parts: Iterable[LogPart]) -> dict[str, dict[str, Any]]:
    """The newest action on each file, by its key, as machines find them together."""
    actions: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}
    for part in parts:
        for batch in read_log_part(folder.table(), folder.directory, part):
            for row in batch.to_pylist():
                place = (part.version, row["line"])
                if row["key"] not in actions or actions[row["key"]][0] <= place:
                    actions[row["key"]] = (place, row)
    return {key: row for key, (_, row) in actions.items()}


def described(row: dict[str, Any], has_vector: bool) -> tuple[Any, ...]:
    texts = (row["partition_values"], row["stats"])
    parsed = (orjson.loads(each) if isinstance(each, str) else each for each in texts)
    return row["path"], row["size"], repr(list(parsed)), has_vector


@pytest.mark.parametrize("name", READABLE)
async def test_the_parts_of_a_log_have_the_files_of_its_snapshot(
    tables: ReaderTables, name: str
) -> None:
    folder = DeltaFolder(tables.table(name).location)
    snapshot, version = await latest(folder), await version_of(folder)
    assert (version.version, version.protocol, version.metadata) == (
        snapshot.version,
        snapshot.protocol,
        snapshot.metadata,
    )
    live = [row for row in newest(folder, version.parts).values() if not row["removed"]]
    found = sorted(described(row, row["has_vector"]) for row in live)
    expected = (described(row, row["deletion_vector"] is not None) for row in rows(snapshot))
    assert found == sorted(expected)


@pytest.mark.parametrize(("name", "answer"), UNREADABLE.items())
async def test_what_has_no_snapshot_has_no_parts_either(
    tables: ReaderTables, name: str, answer: Unreadable
) -> None:
    folder = DeltaFolder(tables.table(name).location)
    kind = TableUnreadable if answer.status == 400 else NotFound
    with pytest.raises(kind, match=answer.message):
        newest(folder, (await version_of(folder)).parts)


async def test_only_the_commits_since_a_version_are_read(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a.parquet"))
    before = await version_of(folder)
    folder.commit(1, add("b.parquet"))
    folder.commit(2, remove("a.parquet"), add("c.parquet"))
    folder.parquet(f"{1:020}.checkpoint.parquet", [*HEAD, add("a.parquet"), add("b.parquet")])
    folder.hint('{"version": 1, "size": 4}')
    now = await version_of(folder)
    parts = await now.since(before.version, before.mark)
    assert parts is not None
    assert [part.version for part in parts] == [1, 2]
    found = {key: row["removed"] for key, row in newest(folder, parts).items()}
    assert found == {"a.parquet": True, "b.parquet": False, "c.parquet": False}
    assert await now.since(now.version, now.mark) == ()


async def test_a_replaced_or_cleaned_log_does_not_say_what_changed(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a.parquet"))
    path = folder.commit(1, add("b.parquet"))
    before = await version_of(folder)
    folder.commit(2, add("c.parquet"))
    folder.commit(3, add("d.parquet"))
    now = await version_of(folder)
    assert await now.since(before.version, before.mark) is not None
    assert await now.since(now.version + 1, now.mark) is None
    actions = [*HEAD, *(add(f"{name}.parquet") for name in "abcd")]
    folder.parquet(f"{3:020}.checkpoint.parquet", actions)
    gap = folder.log / f"{2:020}.json"
    content = gap.read_bytes()
    gap.unlink()
    assert await (await version_of(folder)).since(before.version, before.mark) is None
    gap.write_bytes(content)
    path.write_text('{"add": {"path": "other.parquet", "size": 1}}\n')
    assert await now.since(before.version, before.mark) is None
    path.unlink()
    assert await now.since(before.version, before.mark) is None


async def test_a_checkpoint_with_an_unreadable_part_gives_way_to_an_older_one(
    folder: DeltaFolder,
) -> None:
    folder.commit(0, *HEAD, add("a.parquet"))
    folder.commit(1, add("b.parquet"))
    path = folder.parquet(f"{1:020}.checkpoint.parquet", [*HEAD, add("a.parquet")])
    assert [part.version for part in (await version_of(folder)).parts] == [-1]
    version = await version_of(folder, path.name)
    assert [part.version for part in version.parts] == [0, 1]
    assert set(newest(folder, version.parts)) == {"a.parquet", "b.parquet"}
    (folder.log / f"{0:020}.json").unlink()
    with pytest.raises(TableUnreadable):
        await version_of(folder, path.name)


def test_a_version_takes_no_memory_for_its_files(folder: DeltaFolder) -> None:
    """100,000 files are 26 MB in the log, of which a few pieces are in memory at a time."""
    stats = orjson.dumps({"numRecords": 1, "minValues": {"id": "x" * 100}}).decode()
    folder.commit(0, *HEAD, *(add(f"{number}.parquet", stats=stats) for number in range(100_000)))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(folder.root)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 20_000_000
