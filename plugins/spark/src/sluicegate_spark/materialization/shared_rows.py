"""Builds the rows and columns of a copy from its source."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from sluicegate.api import conditions
from sluicegate_spark.copies.column_rules import ColumnRule
from sluicegate_spark.copies.config import CopyConfig
from sluicegate_spark.copies.expressions import columns_in
from sluicegate_spark.maintenance.column_names import check_columns
from sluicegate_spark.maintenance.condition_sql import condition_sql
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.expression_sql import expression_sql
from sluicegate_spark.materialization.failures import unfit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType


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


_NOT_HASHED: Final = ("binary", "array", "map", "struct", "variant", "void")
_OPTIONAL: Final = ("nullable", "containsNull", "valueContainsNull")
_HASHES: Final = b"sluicegate: hashes of column values"


def shared_rows(source: DataFrame, copy: CopyConfig, key: bytes, location: str) -> DataFrame:
    """Return what recipients see of a source.

    No name, comment, default, or other metadata of a column of the source remains, except the names of
    shared columns.
    """
    schema = source.schema
    _check_names(schema, copy)
    fields = [(field, copy.rule(field.name)) for field in schema.fields]
    shared = [(field, rule) for field, rule in fields if rule.kind != "hide"]
    if len(shared) <= len(copy.recipient_columns):
        raise unfit("at least one column must be shared that is not one of the recipient_columns")
    rows = with_recipient(_matching(source, copy), copy, location)
    return rows.select([_column(schema, field, rule, key) for field, rule in shared])


def count_left_out(source: DataFrame, copy: CopyConfig, location: str) -> int:
    """Return the number of rows that would be shared, but that no recipient can have."""
    rows = without_recipient(_matching(source, copy), copy, location)
    return 0 if rows is None else rows.count()


def _matching(source: DataFrame, copy: CopyConfig) -> DataFrame:
    if copy.rows is None:
        return source
    condition = conditions.parse_condition(copy.rows)
    check_columns(source.schema, (each.path for each in conditions.columns_of(condition)), "rows")
    return source.where(condition_sql(condition))


def partition_columns(schema: StructType, copy: CopyConfig) -> list[str]:
    """Return the partition columns of a copy, with the names that the source has."""
    return [field_of(schema, name).name for name in copy.recipient_columns]


def keyed_hash(key: bytes) -> Callable[[str | None], str | None]:
    """Return a function that replaces a text by its HMAC-SHA-256, in hexadecimal digits.

    Without the key, nobody can try out possible values. Spark shows the function's name in plans, and
    never its content.
    """
    own_key = hmac.digest(key, _HASHES, "sha256")

    def keyed_hash_of(value: str | None) -> str | None:
        if value is None:
            return None
        return hmac.new(own_key, value.encode(), hashlib.sha256).hexdigest()

    return keyed_hash_of


def _check_names(schema: StructType, copy: CopyConfig) -> None:
    folded = [name.casefold() for name in schema.names]
    if len(set(folded)) < len(folded):
        raise unfit("the source has columns whose names differ only in case")
    for place, names in (
        ("columns", copy.columns),
        ("recipient_columns", copy.recipient_columns),
        ("cluster_by", copy.cluster_by),
    ):
        check_columns(schema, ((name,) for name in names), place)
    for name in copy.cluster_by:
        if copy.rule(name).kind != "share":
            raise unfit(
                f"cluster_by: recipients don't see the values of '{name}', but the order of rows would "
                "show theirs"
            )


def _column(schema: StructType, field: StructField, rule: ColumnRule, key: bytes) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    value = F.col(identifier(field.name))
    kind = _plain(field.dataType)
    match rule.kind:
        case "null":
            value = F.lit(None).cast(kind)
        case "hash":
            _check_type(field, rule, _NOT_HASHED)
            value = F.udf(keyed_hash(key), "string", useArrow=False)(value.cast("string"))
        case "truncate":
            if field.dataType.typeName() not in ("string", "char", "varchar"):
                raise unfit(f"columns: '{field.name}' can't be truncated, because it is no text")
            value = F.substring(value.cast("string"), 1, rule.length)
        case "expression" if rule.expression is not None:
            check_columns(schema, columns_in(rule.expression), f"columns.{field.name}")
            value = F.expr(expression_sql(rule.expression))
        case _:
            # Without metadata, which an alias alone would keep.
            value = value.cast(kind)
    return value.alias(field.name)


def _check_type(field: StructField, rule: ColumnRule, refused: Sequence[str]) -> None:
    kind = field.dataType.typeName()
    if kind in refused:
        raise unfit(f"columns: '{field.name}' is of type {kind}, to which {rule.kind} does not apply")


def _plain(kind: DataType) -> DataType:
    """Return a type without metadata of fields, in which everything can be null."""
    from pyspark.sql.types import StructField, StructType

    wrapped = StructType([StructField("value", kind)])
    return StructType.fromJson(_cleared(wrapped.jsonValue())).fields[0].dataType


def _cleared(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            name: {} if name == "metadata" else True if name in _OPTIONAL else _cleared(value)
            for name, value in part.items()
        }
    return [_cleared(each) for each in part] if isinstance(part, list) else part
