from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import obstore
import pytest

from sluicegate.api import StorageError, TaskFailed
from sluicegate.testing.servers.seaweedfs import SeaweedFS
from sluicegate_iceberg.names import TableName
from sluicegate_spark.maintenance.orphan_candidates import old_files
from sluicegate_spark.tables import Table

from ..store_access import access_of

LATER = datetime.now(UTC) + timedelta(days=1)
OWN = ("data/a b.parquet", "data/c%20=1/d.parquet", "metadata/1.metadata.json", "metadata/m.avro")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


def table(server: SeaweedFS, name: str, *others: str) -> Table:
    """A table of some files, and another table whose name has the same prefix."""
    store, location = server.store(), f"s3://{server.bucket}/{name}"
    for path in (*OWN, *others, "../neighbour/x"):
        key = f"{name}2/x" if path.startswith("..") else f"{name}/{path}"
        obstore.put(store, key, path.encode())
    metadata = f"{location}/metadata/1.metadata.json"
    return Table(TableName(("eu",), name), None, location, metadata, {})


async def test_the_tables_own_files_are_listed_with_their_bytes(server: SeaweedFS) -> None:
    own = table(server, "own", "_tmp/x", "data/.crc", "data/_x/y")
    found = await old_files(access_of(server), own, LATER, shared=False)
    expected = {f"{own.location}/{path}": len(path) for path in OWN}
    assert (
        dict(zip(*(found[name].to_pylist() for name in ("location", "bytes")), strict=True)) == expected
    )


async def test_young_files_are_not_listed(server: SeaweedFS) -> None:
    own = table(server, "young")
    before = datetime.now(UTC) - timedelta(days=1)
    assert (await old_files(access_of(server), own, before, shared=False)).num_rows == 0


@pytest.mark.parametrize(
    "other", ["inner/metadata/7.metadata.json", "_delta_log/0.json", "data/inner/_delta_log/0.json"]
)
async def test_another_table_in_the_directory_is_refused(server: SeaweedFS, other: str) -> None:
    own = table(server, f"around_{len(other)}", other)
    with pytest.raises(TaskFailed, match=f"it has '{other}'"):
        await old_files(access_of(server), own, LATER, shared=False)
    assert (await old_files(access_of(server), own, LATER, shared=True)).num_rows >= len(OWN)


async def test_a_directory_that_cannot_be_listed_is_told(server: SeaweedFS) -> None:
    own = table(server, "closed")
    with pytest.raises(StorageError, match="cannot be listed"):
        await old_files(access_of(server, identity=server.nobody), own, LATER, shared=False)
