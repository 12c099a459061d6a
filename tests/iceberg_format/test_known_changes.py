"""Changes of Iceberg versions are made once: what was told before costs one look at the metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from obstore.store import LocalStore
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from sluicegate.api import CatalogTable, ObjectDirectory, UnsupportedOperation
from sluicegate_iceberg.format.known_steps import KnownSteps
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.table_format import IcebergFormat

pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


class Lake:
    """One table in a folder, read by one instance of the format; what is read is counted."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._location = f"file://{folder}/t"
        self._catalog = SqlCatalog(
            "ice", uri=f"sqlite:///{folder}/ice.db", warehouse=f"file://{folder}"
        )
        self._catalog.create_namespace("ice")
        self._format = IcebergFormat()
        self.read: list[str] = []
        read = TableObjects.read

        async def counted(objects: TableObjects, location: str, *part: Any) -> bytes:
            self.read.append(location.rpartition("/")[2])
            return await read(objects, location, *part)

        patch.setattr(TableObjects, "read", counted)

    def create(self) -> Table:
        return self._catalog.create_table(
            "ice.t", schema=rows(1).schema, location=self._location, properties={"format-version": "2"}
        )

    def drop(self) -> None:
        self._catalog.drop_table("ice.t")

    async def told(self, start: int) -> list[tuple[int, str, str]]:
        """Version, kind and file of all changes from a version on."""
        metadata = self._catalog.load_table("ice.t").metadata_location
        table = CatalogTable("ice.t", "iceberg", self._location, metadata_location=metadata)
        key = self._location.removeprefix("file:///")
        directory = ObjectDirectory(LocalStore("/"), key)
        latest = await self._format.latest(table, directory, None)
        self.read.clear()
        changes = await self._format.changes(table, directory, latest, start, latest.version)
        return [
            (commit.version, row["kind"], row["path"])
            async for commit, files in changes.files("data", start)
            for row in files.to_pylist()
        ]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    return Lake(tmp_path, monkeypatch)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {id}" for id in ids]})


async def test_a_repeated_response_reads_no_manifests(lake: Lake) -> None:
    table = lake.create()
    for number in range(4):
        table.append(rows(number))
    first = await lake.told(2)
    assert [(version, kind) for version, kind, _ in first] == [(2, "add"), (3, "add"), (4, "add")]
    assert any(name.endswith(".avro") for name in lake.read)

    assert await lake.told(2) == first
    assert [name.endswith(".metadata.json") for name in lake.read] == [True]
    assert await lake.told(3) == first[1:]
    assert len(lake.read) == 1


async def test_one_more_version_is_the_only_one_that_is_made(lake: Lake) -> None:
    table = lake.create()
    for number in range(6):
        table.append(rows(number))
    first = await lake.told(2)
    table.append(rows(6))

    whole = await lake.told(2)

    assert whole[:-1] == first
    assert whole[-1][:2] == (7, "add")
    lists = [name for name in lake.read if name.startswith("snap-")]
    assert len(lists) == 2  # of the new version, and of the one before
    assert len(lake.read) == 3  # with the metadata: all manifests are known from the newest snapshot


async def test_a_rename_reverts_what_was_reported(lake: Lake) -> None:
    table = lake.create()
    table.append(rows(1))
    table.append(rows(2))
    await lake.told(2)
    with table.update_schema() as update:
        update.rename_column("name", "title")
    with pytest.raises(UnsupportedOperation, match="renamed"):
        await lake.told(2)


async def test_a_table_created_anew_has_changes_of_its_own(lake: Lake) -> None:
    told = []
    for count in (1, 2):
        table = lake.create()
        for number in range(2):
            table.append(rows(*range(number, number + count)))
        told.append(await lake.told(2))
        lake.drop()
    first, second = told
    assert [each[:2] for each in first] == [each[:2] for each in second]
    assert first[0][2] != second[0][2]


async def test_what_is_larger_than_all_that_may_be_kept_is_made_each_time(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake._format, "_steps", KnownSteps(most_bytes=10))
    table = lake.create()
    table.append(rows(1))
    table.append(rows(2))
    first = await lake.told(2)
    assert await lake.told(2) == first
    assert any(name.startswith("snap-") for name in lake.read)
