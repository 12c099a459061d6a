"""What a table declares for Iceberg clients, in the words of its own metadata."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from sluicegate.formats import IcebergDeclaration
from sluicegate_iceberg.format.lineage import Lineage
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata
from sluicegate_iceberg.format.metadata.schema import Struct, places


def declaration_of(
    schema: Struct, metadata: IcebergMetadata, lineage: Lineage, ref: str | None
) -> IcebergDeclaration:
    """Return what a version of a table declares."""
    (schema_id,) = [id_ for id_, each in metadata.schemas.items() if each is schema]
    partitioning = metadata.partitioning
    known = {place.field.id for place in places(lineage.schema)}
    order = partitioning.sort_order
    sorts_by_known = order is not None and all(each["source-id"] in known for each in order["fields"])
    return IcebergDeclaration(
        schema=_json({**metadata.written_schemas[schema_id], "schema-id": schema_id}),
        format_version=metadata.format_version,
        # Clients look for the columns of all specs in the current schema.
        specs=_json(
            [
                {"spec-id": id_, "fields": [field.json for field in fields]}
                for id_, fields in partitioning.specs.items()
                if all(field.source_id in known for field in fields)
            ]
        ),
        default_spec=partitioning.default_spec,
        sort_order=_json(order) if sorts_by_known else None,
        # If one branch or tag is shared, the others are not.
        refs={} if ref is not None else dict(_refs(metadata, lineage)),
    )


def _refs(metadata: IcebergMetadata, lineage: Lineage) -> Iterator[tuple[str, tuple[int, bool]]]:
    versions = {each.snapshot.id: each.number for each in lineage.versions if each.snapshot}
    for name, ref in metadata.refs.items():
        if ref.snapshot_id in versions:
            yield name, (versions[ref.snapshot_id], ref.is_tag)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
