"""A table of a file system that is dropped and created again: its files are numbered from one again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from obstore.store import LocalStore
from pyiceberg.catalog.sql import SqlCatalog

from sluicegate.api import LinkSigner, ObjectDirectory
from sluicegate.tables.reading.reader import TableReader
from sluicegate_iceberg.format.table_format import IcebergFormat
from sluicegate_paths.catalog import PathsCatalog
from sluicegate_paths.config import PathsConfig

pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


class Context:
    """What the gateway gives to a catalog: files of this machine."""

    name = "raw"

    @property
    def links(self) -> LinkSigner:
        raise NotImplementedError

    async def open(self, location: str) -> ObjectDirectory:
        return ObjectDirectory(LocalStore("/"), location.removeprefix("file:///"))


async def test_its_files_are_served_and_not_those_that_are_gone(tmp_path: Path) -> None:
    location = f"file://{tmp_path}/t"
    writer = SqlCatalog("ice", uri=f"sqlite:///{tmp_path}/ice.db", warehouse=f"file://{tmp_path}")
    writer.create_namespace("ice")
    catalog, context = PathsCatalog(PathsConfig(), Context()), Context()
    reader = TableReader({"iceberg": IcebergFormat()}, 1 << 20)
    try:
        for count in (1, 2, 3):
            rows = pa.table({"id": pa.array(range(count), pa.int64())})
            table = writer.create_table("ice.t", rows.schema, location=location)
            table.append(rows)
            metadata = Path(table.metadata_location.removeprefix("file://"))
            shutil.copy(metadata, metadata.with_name("v1.metadata.json"))

            found = await catalog.load_table(location)
            snapshot = await reader.latest(found, await context.open(location))

            (file,) = [row for batch in snapshot.files.batches(10) for row in batch.to_pylist()]
            assert (tmp_path / "t" / file["path"]).exists()
            writer.drop_table("ice.t")
            shutil.rmtree(tmp_path / "t")
    finally:
        writer.engine.dispose()
