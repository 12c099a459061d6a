from __future__ import annotations

from dataclasses import replace

import orjson
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_view
from support.tables.memory_tables import file, snapshot

from sluicegate.protocols.iceberg_rest.manifests.files import parts_of
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.shape import OwnMetadata, Spec, SpecField

METADATA = table_metadata([schema_field("id", "long")])
BY_ID = SpecField(1000, 1, "id", "identity", "long")
OWN = OwnMetadata(0, (), (Spec(0, ()), Spec(3, (BY_ID,)), Spec(5, (BY_ID,))), 3)


async def view_of(**specs: int) -> IcebergView:
    """Files by their names, in these specs."""
    rows = [
        file(name, partition_values=orjson.dumps({"spec-id": str(spec), "=1": "7"}).decode())
        for name, spec in specs.items()
    ]
    return await iceberg_view(METADATA, snapshot(*rows).files)


def parts(view: IcebergView, most: int) -> list[tuple[int, str]]:
    """The specs of parts, and the names of their files."""
    found = parts_of(view, most)
    return [(part.spec, "".join(part.files.column("path").to_pylist())) for part in found]


async def test_files_of_a_delta_table_are_cut_in_the_order_of_their_paths() -> None:
    view = await view_of(c=0, a=0, b=0)
    spec = spec_without((), view.shape)
    assert parts(view, 2) == [(spec, "ab"), (spec, "c")]


async def test_files_of_different_specs_are_in_different_parts() -> None:
    view = await view_of(f=3, e=5, d=0, c=3, b=9, a=3)
    own = replace(view, shape=replace(view.shape, own=OWN))
    assert parts(own, 2) == [(0, "bd"), (3, "ac"), (3, "f"), (5, "e")]


async def test_a_table_without_files_has_no_parts() -> None:
    view = await view_of()
    assert parts(view, 2) == []
    assert parts(replace(view, shape=replace(view.shape, own=OWN)), 2) == []
