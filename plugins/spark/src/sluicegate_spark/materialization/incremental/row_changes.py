"""Counts how often each row was added to a copy, and how often it was removed.

A copy has no key, and can contain equal rows. So a change is a number for each distinct row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.cluster import KeptFrames
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.incremental.rules import RebuildRequired

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

FLOATS: Final = ("float", "double")
_EXACT: Final = (
    "string",
    "byte",
    "short",
    "integer",
    "long",
    "decimal",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
)


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that a refresh adds to a copy, and rows that it removes."""

    rows: DataFrame
    schema: StructType
    added: int
    removed: int

    def inserted(self) -> DataFrame:
        """Return each row to insert: the added ones, and those that remain of rows that are deleted."""
        from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

        times = F.when(F.col("net") > 0, F.col("net")).otherwise(F.col("kept"))
        many = self.rows.withColumn("times", times).where("times > 0")
        return many.select(
            "row", F.explode(F.sequence(F.lit(1).cast("long"), "times")).alias("_")
        ).select("row")

    def deleted(self) -> DataFrame:
        """Return each distinct row, all of whose copies are deleted."""
        return self.rows.where("net < 0").select("row")


def check_comparable(schema: StructType) -> None:
    """Ensure that Spark can tell whether rows are equal."""
    for field in schema.fields:
        if field.dataType.typeName() not in FLOATS and not _is_exact(field.dataType):
            raise RebuildRequired(
                f"values of the column '{field.name}' of type {field.dataType.simpleString()[:100]} "
                "can't be compared"
            )


def changes_of(
    kept: KeptFrames, added: DataFrame | None, removed: DataFrame | None, copy: DataFrame
) -> Changes:
    """Return how a copy changes."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    check_comparable(copy.schema)
    signed = [
        rows.select(_packed(rows.schema).alias("row"), F.lit(sign).cast("long").alias("sign"))
        for rows, sign in ((added, 1), (removed, -1))
        if rows is not None
    ]
    if not signed:
        signed = [
            copy.limit(0).select(_packed(copy.schema).alias("row"), F.lit(0).cast("long").alias("sign"))
        ]
    union = signed[0] if len(signed) == 1 else signed[0].unionAll(signed[1])
    net = union.groupBy("row").agg(F.sum("sign").alias("net")).where("net <> 0")
    # In an order that only shared values decide, so that the files of the copy show no other.
    net = kept.keep(net.sortWithinPartitions("row"), in_memory=True)
    more, fewer = _sums(net)
    if not fewer:
        rows = net.withColumn("kept", F.lit(None).cast("long"))
        return Changes(rows, copy.schema, more, 0)
    rows = kept.keep(_with_kept(net, copy).sortWithinPartitions("row"), in_memory=True)
    if rows.where("kept < 0").limit(1).count():
        raise RebuildRequired("the copy does not contain all rows that were removed from the source")
    return Changes(rows, copy.schema, more, fewer)


def values(schema: StructType) -> list[Column]:
    """Return the columns of a copy from a column `row`, a structure of comparable values."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    return [
        F.col(identifier("row", field.name)).cast(field.dataType).alias(field.name)
        for field in schema.fields
    ]


def _packed(schema: StructType) -> Column:
    """Return a structure of the values, in which equal values are the same value.

    Spark groups -0.0 with 0.0, so texts replace floating-point numbers. They are exact.
    """
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    return F.struct(
        *[
            F.col(identifier(each.name))
            .cast("string" if each.dataType.typeName() in FLOATS else each.dataType)
            .alias(each.name)
            for each in schema.fields
        ]
    )


def _sums(net: DataFrame) -> tuple[int, int]:
    found: Any = net.selectExpr(
        "coalesce(sum(greatest(net, 0L)), 0L) AS more", "coalesce(sum(greatest(-net, 0L)), 0L) AS fewer"
    ).first()
    return int(found["more"]), int(found["fewer"])


def _with_kept(net: DataFrame, copy: DataFrame) -> DataFrame:
    """Return the changes with the numbers of rows that remain in the copy, if they become fewer."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    present = copy.select(_packed(copy.schema).alias("row"))
    fewer = net.where("net < 0").select("row")
    counts = present.join(fewer, "row", "left_semi").groupBy("row").agg(F.count("*").alias("present"))
    remaining = F.coalesce("present", F.lit(0)) + F.col("net")
    return net.join(counts, "row", "left").select(
        "row", "net", F.when(F.col("net") < 0, remaining).alias("kept")
    )


def _is_exact(kind: Any) -> bool:
    """Return whether values that Spark finds equal are the same, also in structures and lists."""
    name = str(kind.typeName())
    if name == "array":
        return _is_exact(kind.elementType)
    if name == "struct":
        return all(_is_exact(field.dataType) for field in kind.fields)
    return name in _EXACT and "collate" not in str(kind.simpleString())
