"""Metadata of converted tables as catalogs return it, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_spark.conversion.to_iceberg.table_metadata import (
    IcebergTableMetadata,
    LoadTableResult,
    comparable_schema,
)
from sluicegate_spark.conversion.to_iceberg.target_table import has_files_of

METADATA: dict[str, Any] = {
    "location": "s3://b/t",
    "schemas": [
        {"type": "struct", "schema-id": 0, "fields": []},
        {
            "schema-id": 1,
            "fields": [{"id": 3, "name": "a b", "required": False, "type": "decimal(5,2)", "doc": "d"}],
        },
    ],
    "current-schema-id": 1,
    "partition-specs": [
        {"spec-id": 0, "fields": []},
        {
            "spec-id": 1,
            "fields": [{"source-id": 3, "field-id": 1000, "transform": "bucket[4]", "name": "p"}],
        },
    ],
    "default-spec-id": 1,
    "current-snapshot-id": -1,
    "snapshots": None,
}


def test_a_table_is_read_as_catalogs_spell_it() -> None:
    table = IcebergTableMetadata.model_validate(METADATA)
    assert (table.current_snapshot_id, table.current, table.spec.spec_id) == (None, None, 1)
    field = {"id": 3, "name": "a b", "required": False, "type": "decimal(5, 2)"}
    assert table.schema_ids([field]) == [1]
    assert table.schema_ids([{**field, "id": 4}]) == []
    assert table.schema_ids([{**field, "name": "ab"}]) == []


def test_partitions_are_the_same_only_by_their_values() -> None:
    spec = IcebergTableMetadata.model_validate(METADATA).spec
    assert not spec.is_identity_of([3])
    identity = [{"source-id": 3, "field-id": 1007, "transform": "identity"}]
    spec = type(spec).model_validate({"spec-id": 1, "fields": identity})
    assert spec.is_identity_of([3])
    assert not spec.is_identity_of([3, 4])


@pytest.mark.parametrize("name", ["default-spec-id", "current-schema-id"])
def test_ids_of_nothing_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        IcebergTableMetadata.model_validate({**METADATA, name: 7})


def test_nested_types_are_compared_by_their_meaning() -> None:
    spelled = {"type": "list", "element-id": 2, "element": "long", "element-required": False}
    assert comparable_schema(spelled) == comparable_schema({**spelled, "doc": "x"})
    assert comparable_schema(spelled) != comparable_schema({**spelled, "element-id": 3})


@pytest.mark.parametrize(
    ("metadata_location", "location", "has_files"),
    [
        ("s3://b/t/_iceberg/u/metadata/0.json", "s3://b/t/_iceberg/u", False),
        ("s3://warehouse/eu/t/metadata/0.json", "s3://b/t/_iceberg/u", False),
        (None, "s3://b/t/_iceberg/u", False),
        (None, "s3://b/t2", False),
        (None, "s3a://b/t/", True),
        (None, "s3://b/t/_iceberg", True),
        ("s3://b/t/metadata/0.json", "s3://b/t/_iceberg/u", True),
        ("s3a://b/metadata/0.json", "s3://b/t/_iceberg/u", True),
    ],
)
def test_directories_with_files_of_the_source_are_known(
    metadata_location: str | None, location: str, *, has_files: bool
) -> None:
    loaded = LoadTableResult.model_validate(
        {"metadata-location": metadata_location, "metadata": {**METADATA, "location": location}}
    )
    assert any(has_files_of("s3://b/t", each) for each in loaded.directories) is has_files
