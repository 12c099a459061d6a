"""Summaries of partition values in manifest lists (Iceberg specification, "Manifest Lists")."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sluicegate_spark.conversion.to_iceberg.schema import Column
from sluicegate_spark.conversion.to_iceberg.value_encoding import (
    comparable,
    comparable_bound,
    partition_bound,
)

Partition = Sequence[Any]
"""Partition values in the order of the partition columns, as in manifests."""


def summaries(columns: Sequence[Column], partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    """Return a summary for each partition column."""
    distinct = list(zip(*{tuple(each) for each in partitions}, strict=True))
    return [_summary(column, values) for column, values in zip(columns, distinct, strict=True)]


def may_contain(
    columns: Sequence[Column],
    found: Sequence[Mapping[str, Any]] | None,
    partitions: Iterable[Partition],
) -> bool:
    """Return whether a manifest can contain a file of one of the partitions."""
    if found is None or len(found) != len(columns):
        return True
    try:
        return any(_is_inside(columns, found, partition) for partition in partitions)
    except (ValueError, TypeError, KeyError, OverflowError, struct.error):
        return True  # bounds that nobody can read exclude nothing


def _summary(column: Column, values: Sequence[Any]) -> dict[str, Any]:
    ordered = [value for value in values if value is not None and not _is_nan(value)]
    lower, upper = (
        bound(ordered, key=lambda value: comparable(value, column.type)) if ordered else None
        for bound in (min, max)
    )
    return {
        "contains_null": None in values,
        "contains_nan": any(map(_is_nan, values)),
        "lower_bound": lower if lower is None else partition_bound(lower, column.type, upper=False),
        "upper_bound": upper if upper is None else partition_bound(upper, column.type, upper=True),
    }


def _is_inside(
    columns: Sequence[Column], found: Sequence[Mapping[str, Any]], partition: Partition
) -> bool:
    return all(
        _is_within(column, summary, value)
        for column, summary, value in zip(columns, found, partition, strict=True)
    )


def _is_within(column: Column, summary: Mapping[str, Any], value: Any) -> bool:
    if value is None:
        return bool(summary["contains_null"])
    if _is_nan(value):
        return summary["contains_nan"] is not False
    lower, upper = summary["lower_bound"], summary["upper_bound"]
    if lower is None or upper is None:
        return summary["contains_nan"] is None  # all values are null or NaN
    first, last = comparable_bound(lower, column.type), comparable_bound(upper, column.type)
    return bool(first <= comparable(value, column.type) <= last)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
