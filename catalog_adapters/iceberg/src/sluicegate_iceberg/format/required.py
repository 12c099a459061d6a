"""Columns that files must have, as what stands for them where they lack one is not null.

Recipients read a missing column as null. Iceberg's readers take its default, or the partition's value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.metadata import IcebergMetadata
from sluicegate_iceberg.format.schema import Struct, places
from sluicegate_iceberg.format.shape import unapplied_default


def required_columns(metadata: IcebergMetadata, columns: Struct) -> dict[int, str]:
    """Field ids of the columns that only the files themselves can tell to be there, and why they must.

    Schemas tell it of a default, where none is missing and each file was written with one of them.

    Args:
        metadata: What the newest metadata file says.
        columns: Those that are declared.
    """
    names = {field.id: field.name for field in columns.fields}
    required = {}
    if metadata.name_mapping:
        required = {
            id_: "data files of the Iceberg table lack columns that it is partitioned by "
            f"({names[id_]}), as files of Hive and Delta tables do: share the table that they were "
            "taken over from, or rewrite them (rewrite_data_files, rewrite-all)"
            for id_ in sorted(metadata.partitioned_by & names.keys())
        }
    if metadata.name_mapping or not metadata.all_schemas:
        defaults = (place.field for place in places(columns) if place.field.default)
        required |= {field.id: unapplied_default(field.name) for field in defaults}
    return required


def check_columns(file: Mapping[str, Any], required: Mapping[int, str]) -> None:
    """Make sure that a file has what it must have: writers count the nulls of each of its columns.

    Args:
        file: The `data_file` of a manifest's entry.
        required: Of `required_columns`.

    Raises:
        UnsupportedOperation: It lacks a column, or does not tell.
    """
    counted = {item["key"] for item in file.get("null_value_counts") or ()}
    for id_, reason in required.items():
        if id_ not in counted:
            raise UnsupportedOperation(reason)
