"""Spark tasks list possible orphans in ranges, whether or not the store starts a listing at a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import obstore
import pyarrow as pa
import pytest
from obstore.store import MemoryStore

from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.orphans.directory_listing import DirectoryListing, TableDirectory
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from ..store_access import access_of

LATER = datetime.now(UTC) + timedelta(days=1)
OWN = ("data/a b.parquet", "data/c%20=1/d.parquet", "metadata/1.metadata.json", "metadata/m.avro")
KEYS = pa.schema([("after", pa.string()), ("until", pa.string()), ("divisible", pa.bool_())])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@dataclass(frozen=True)
class StoreInMemory:
    """Access to a store whose credentials are of some kind."""

    store: MemoryStore
    kind: str

    @property
    def credentials(self) -> StoreInMemory:
        return self

    def open(self, location: str) -> tuple[MemoryStore, str]:
        return self.store, location.removeprefix("s3://lake/")


def table(server: SeaweedFS, name: str, *others: str) -> TableDirectory:
    """A table of some files, and another table whose name has the same prefix."""
    store, location = server.store(), f"s3://{server.bucket}/{name}"
    for path in (*OWN, *others, "../neighbour/x"):
        key = f"{name}2/x" if path.startswith("..") else f"{name}/{path}"
        obstore.put(store, key, path.encode())
    return TableDirectory(location, f"{location}/metadata", LATER, shared=False)


def listed(
    access: ObjectAccess, directory: TableDirectory, most: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """List a directory, one range after the other; the rows, and the number of ranges."""
    listing = DirectoryListing(access, directory, 600, most)
    left, rows, count = [{"after": "", "until": "", "divisible": True}], [], 0
    while left:
        keys, count = pa.RecordBatch.from_pylist([left.pop()], KEYS), count + 1
        for row in (row for batch in listing([keys]) for row in batch.to_pylist()):
            if row["divisible"] is None:
                rows.append(row)
            else:
                left.append({name: row[name] for name in KEYS.names})
    return rows, count


def sizes(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the sizes of files by key. Each must be listed once."""
    found = {row["key"]: row["bytes"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("most", [None, 1, 3])
def test_the_tables_own_files_are_listed_with_their_bytes(server: SeaweedFS, most: int | None) -> None:
    own = table(server, f"own_{most}", "_tmp/x", "data/.crc", "data/_x/y")
    rows, _ = listed(access_of(server), own, most)
    assert sizes(rows) == {f"own_{most}/{path}": len(path) for path in OWN}


def test_directories_and_names_are_divided_between_tasks(
    server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate_spark.orphans.directory_listing._PAGE", 5)
    paths = [f"data/day={day}/{file:02}.parquet" for day in "123" for file in range(20)]
    paths += [f"data/{number:06b}/x.parquet" for number in range(30)]
    paths += [f"data/{number:02}-flat.parquet" for number in range(40)]
    own = table(server, "divided", *paths)
    rows, ranges = listed(access_of(server), own, 10)
    assert sizes(rows) == {f"divided/{path}": len(path) for path in (*OWN, *paths)}
    assert ranges > 10


def test_young_files_are_not_listed(server: SeaweedFS) -> None:
    young = replace(table(server, "young"), before=datetime.now(UTC) - timedelta(days=1))
    assert listed(access_of(server), young) == ([], 1)


@pytest.mark.parametrize("most", [None, 1])
@pytest.mark.parametrize(
    "other", ["inner/metadata/7.metadata.json", "_delta_log/0.json", "data/inner/_delta_log/0.json"]
)
def test_another_table_in_the_directory_is_reported(
    server: SeaweedFS, other: str, most: int | None
) -> None:
    own = table(server, f"around_{len(other)}", other)
    rows, _ = listed(access_of(server), own, most)
    assert [row["other"] for row in rows if row["other"] is not None] == [other]
    rows, _ = listed(access_of(server), replace(own, shared=True), most)
    assert {row["other"] for row in rows} == {None}
    assert {row["key"] for row in rows} >= {f"around_{len(other)}/{path}" for path in OWN}


def test_a_directory_that_cannot_be_listed_is_reported(server: SeaweedFS) -> None:
    (row,), _ = listed(access_of(server, identity=server.nobody), table(server, "closed"))
    assert "403" in row["error"]
    assert row["key"] is None


@pytest.mark.parametrize("kind", ["aws", "azure"])
def test_every_store_is_listed_completely(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate_spark.orphans.directory_listing._PAGE", 5)
    paths = [*OWN, "top.parquet", *(f"data/day={day}/{n:02}" for day in range(3) for n in range(12))]
    paths += [f"flat/{number:03}" for number in range(30)]
    store = MemoryStore()
    for path in (*paths, "../t2/x"):
        obstore.put(store, f"t/{path}" if ".." not in path else "t2/x", path.encode())
    access: Any = StoreInMemory(store, kind)
    own = TableDirectory("s3://lake/t", "s3://lake/t/metadata", LATER, shared=False)
    rows, ranges = listed(access, own, 10)
    assert sizes(rows) == {f"t/{path}": len(path) for path in paths}
    assert ranges >= 8
