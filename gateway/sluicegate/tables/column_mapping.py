"""Whether data files have other names for columns than the table (Delta protocol, "Column Mapping")."""

from __future__ import annotations

from sluicegate.tables.snapshot import TableMetadata

MODE = "delta.columnMapping.mode"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
FIELD_ID = "delta.columnMapping.id"
NOT_MAPPED, BY_NAME = "none", "name"


def mapping_mode(metadata: TableMetadata) -> str:
    """How columns are found in files: `none` by their names, `name` by physical names, `id` by ids.

    The property decides, whatever the protocol declares.
    """
    return metadata.configuration.get(MODE, NOT_MAPPED).lower()


def is_mapped(metadata: TableMetadata) -> bool:
    """Whether the schema's physical names or ids count."""
    return mapping_mode(metadata) != NOT_MAPPED
