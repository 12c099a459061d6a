"""Finds the rows that no recipient can have, because no directory can be named after their values.

A copy is partitioned by the columns of recipients, and each value becomes part of a path:
`country=DE/part-….parquet`.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Final

from sluicegate_spark.copies.config import CopyConfig
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.failures import unfit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

# The text of their values in the log is the text that recipients' properties are compared with.
_PARTITION_TYPES: Final = ("string", "byte", "short", "integer", "long", "date", "boolean")
# Spark's `ExternalCatalogUtils.escapePathName` replaces each other character by three, such as `%2F`.
_NOT_ESCAPED: Final = r"""[^\x01-\x1f"#%'*/:=?\\\x7f{\[\]^]"""
_LONGEST_NAME: Final = 255  # bytes of a name in the file systems of disks, HDFS and Azure
_LONGEST_KEY: Final = 1024  # bytes of the key of an object in S3 and Google Cloud Storage
_KEY_SCHEMES: Final = ("s3", "s3a", "s3n", "gs", "gcs")
_FILE: Final = 100  # bytes of a file's name and of the name of its log entry, at most
_PHYSICAL: Final = 40  # characters of a column's name in paths, if columns are mapped


def with_recipient(rows: DataFrame, copy: CopyConfig, location: str) -> DataFrame:
    """Return the rows that a recipient can have."""
    condition = _held(rows.schema, copy, location)
    return rows if condition is None else rows.where(condition)


def without_recipient(rows: DataFrame, copy: CopyConfig, location: str) -> DataFrame | None:
    """Return the other rows, or `None` if a copy has no columns of recipients; see `with_recipient`."""
    condition = _held(rows.schema, copy, location)
    return None if condition is None else rows.where(~condition)


def field_of(schema: StructType, name: str) -> StructField:
    """Return the field with a name, whatever its case."""
    return next(each for each in schema.fields if each.name.casefold() == name.casefold())


def _held(schema: StructType, copy: CopyConfig, location: str) -> Column | None:
    """Return a condition that is never null."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    fields = [field_of(schema, name) for name in copy.recipient_columns]
    if not fields:
        return None
    for field in fields:
        kind = field.dataType.typeName()
        if kind not in _PARTITION_TYPES:
            raise unfit(
                f"recipient_columns: '{field.name}' is of type {kind}; possible are "
                f"{', '.join(_PARTITION_TYPES)}"
            )
    texts = [field for field in fields if field.dataType.typeName() == "string"]
    columns = [F.col(identifier(field.name)) for field in fields]
    conditions = [column.isNotNull() for column in columns]
    conditions += [F.col(identifier(field.name)) != "" for field in texts]
    scheme, _, path = location.partition("://")
    if texts and scheme in _KEY_SCHEMES:
        key = len(path.partition("/")[2].encode()) + 1 + _FILE
        others = sum(_name_length(field) + _FILE for field in fields if field not in texts)
        lengths = reduce(lambda some, more: some + more, map(_length, texts))
        conditions.append(lengths <= _LONGEST_KEY - key - others)
    else:
        conditions += [_length(field) <= _LONGEST_NAME for field in texts]
    return F.coalesce(reduce(and_, conditions), F.lit(False))


def _length(field: StructField) -> Column:
    """Return the number of bytes of a directory's name, with a slash."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    value = F.col(identifier(field.name))
    escaped = F.length(F.regexp_replace(value, _NOT_ESCAPED, ""))
    return F.octet_length(value) + 2 * escaped + _name_length(field)


def _name_length(field: StructField) -> int:
    """Return the number of bytes of a column's name in a path, with `=`."""
    special = re.sub(_NOT_ESCAPED, "", field.name)
    return max(len(field.name.encode()) + 2 * len(special), _PHYSICAL) + 1
