"""Which generator makes a file, by its name."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.gateways.memory_gateway import shared_table
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_view
from support.tables.memory_tables import snapshot

from sluicegate.api import NotFound
from sluicegate.protocols.iceberg_rest.by_file.generation import Generator, MetadataFile
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles
from sluicegate.protocols.iceberg_rest.file_access.generated_links import metadata_name
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles
from sluicegate.protocols.iceberg_rest.view import IcebergView


class Makers:
    """Says what was asked of it."""

    async def manifest_list(self, view: IcebergView) -> bytes:
        return b"list of %d" % view.snapshot.version

    async def manifest(self, view: IcebergView, number: int) -> bytes:
        return b"manifest %d" % number

    async def content(self, view: IcebergView, number: int) -> bytes:
        return b"vectors %d" % number

    async def positions(self, view: IcebergView, number: int) -> bytes:
        return b"deletes %d" % number


class MetadataMaker:
    """Says which version's metadata was requested."""

    async def content(self, view: IcebergView) -> bytes:
        return b"metadata of %d" % view.snapshot.version


@pytest.fixture
def generator() -> Generator:
    makers: Any = Makers()
    metadata = cast("MetadataFile", MetadataMaker())
    return Generator(metadata, cast("ManifestFiles", makers), cast("VectorFiles", makers))


@pytest.fixture
async def view() -> IcebergView:
    return await iceberg_view(table_metadata([schema_field("id", "long")]), snapshot().files)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (metadata_name(shared_table(), 4), b"metadata of 4"),
        ("~/manifest-list.avro", b"list of 4"),
        ("~/manifest-0.avro", b"manifest 0"),
        ("~/manifest-31.avro", b"manifest 31"),
        ("~/vectors-7.puffin", b"vectors 7"),
        ("~/deletes-8.parquet", b"deletes 8"),
    ],
)
async def test_a_name_says_what_is_generated(
    generator: Generator, view: IcebergView, name: str, content: bytes
) -> None:
    assert await generator.generate(view, name) == content


@pytest.mark.parametrize(
    "name",
    ["", "~/", "data.parquet", "~/other-1.avro", "~/manifest-01.avro", "~/manifest--1.avro",
     "~/manifest-99999999999.avro", "x~/manifest-1.avro", "~/manifest-1.avro\n"],
)  # fmt: skip
async def test_other_names_are_not_found(generator: Generator, view: IcebergView, name: str) -> None:
    with pytest.raises(NotFound, match="there is no such file"):
        await generator.generate(view, name)
