"""Finds columns that files must contain, because a missing column does not mean null.

Recipients read a missing column as null. Iceberg's readers use its default, or the partition value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata
from sluicegate_iceberg.format.metadata.schema import Struct, places
from sluicegate_iceberg.format.metadata.shape import unapplied_default


def required_columns(metadata: IcebergMetadata, columns: Struct) -> dict[int, str]:
    """Return field ids of columns that each file must contain, with the reason.

    For defaults, schemas alone are sufficient if none is missing and each file was written with one
    of them.
    """
    names = {field.id: field.name for field in columns.fields}
    required = {}
    if metadata.name_mapping:
        required = {
            id_: "data files of the Iceberg table lack columns that it is partitioned by "
            f"({names[id_]}), as files of Hive and Delta tables do: share the table from which the "
            "files were imported, or rewrite the files (rewrite_data_files, rewrite-all)"
            for id_ in sorted(metadata.partitioning.identities & names.keys())
        }
    if metadata.name_mapping or not metadata.all_schemas:
        defaults = (place.field for place in places(columns) if place.field.default)
        required |= {field.id: unapplied_default(field.name) for field in defaults}
    return required


def check_columns(file: Mapping[str, Any], required: Mapping[int, str]) -> None:
    """Ensure that a file contains the required columns. Writers count nulls of each column."""
    counted = {item["key"] for item in file.get("null_value_counts") or ()}
    for id_, reason in required.items():
        if id_ not in counted:
            raise UnsupportedOperation(reason)
