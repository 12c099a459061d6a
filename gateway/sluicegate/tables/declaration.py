"""What an Iceberg table declares: for Iceberg clients, and for filters on its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SPEC: Final = "spec-id"
"""The key of the id of the spec in the text of a partition."""


@dataclass(frozen=True, slots=True)
class IcebergDeclaration:
    """The parts of an Iceberg table's metadata that Delta's cannot express.

    If a table has a declaration, the column `partition_values` of its files is not that of a Delta
    table: data files contain all columns, and responses of Delta Sharing name no partitions. The text
    of a partition is a JSON object. Its member `spec-id` is the id of a spec, as text. The value of an
    identity field has the key `=` and the id of its column, and that of another field its own id. The
    values are texts of what Avro files contain without logical types: numbers in decimal digits, bytes
    in hexadecimal digits. An object without members is an unknown partition.

    Attributes:
        schema: The schema of the version as JSON, with its id (Iceberg specification, "Schemas").
        specs: The partition specs as JSON, an array.
        default_spec: The id of the spec for new files.
        sort_order: The order of new files as JSON, or `None`.
        refs: The versions that branches and tags name, by their names, and whether they are tags. Only
            versions that `TableFormat.at_version` returns.
        format_version: The table's format version. Iceberg clients get its deletes as this version has
            them.
    """

    schema: str
    specs: str = "[]"
    default_spec: int = 0
    sort_order: str | None = None
    refs: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    format_version: int = 2
