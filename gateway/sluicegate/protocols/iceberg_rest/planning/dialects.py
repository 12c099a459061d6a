"""How clients read the partition values of a plan, where they differ from the specification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.delta_types import VARIANT
from sluicegate.tables.iceberg.shape import Struct, fields_of

_PYICEBERG = re.compile(r"PyIceberg/0\.(\d{1,4})(?!\d)")
_LAST_WITH_DEFECTS = 12


class Dialect(Enum):
    """What a client can read, and the form of partition values in a plan.

    `STANDARD` is that of the specification, which Java clients read. PyIceberg up to 0.12 does not
    convert partition values: it uses the JSON value as the column's value, refuses null, and takes
    columns that are not selected for null when it tests rows (docs/adr/0049).
    """

    STANDARD = "standard"
    PYICEBERG = "pyiceberg"

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Dialect:
        """The dialect of a client by the headers of its request."""
        found = _PYICEBERG.match(headers.get("user-agent", ""))
        old = found is not None and int(found[1]) <= _LAST_WITH_DEFECTS
        return cls.PYICEBERG if old else cls.STANDARD

    def check(self, schema: Struct) -> None:
        """Check that clients can read the types of a schema."""
        if self is not Dialect.PYICEBERG:
            return
        for field in fields_of(schema):
            if field.type == VARIANT:
                raise UnsupportedOperation(
                    f"PyIceberg cannot read the column {field.name!r}, whose type is variant: use a "
                    "client that supports variants of version 3 of the Iceberg format, or another "
                    "protocol"
                )
