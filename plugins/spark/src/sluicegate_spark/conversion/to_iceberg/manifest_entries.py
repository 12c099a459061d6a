"""Translates files of a Delta table to entries of Iceberg manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from sluicegate.api import UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.manifests import ADDED, partition_keys
from sluicegate_spark.conversion.to_iceberg.schema import Column, Columns
from sluicegate_spark.conversion.to_iceberg.value_encoding import bound, partition_value

_YEAR = re.compile(r"([0-9]{4})-")
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_DECIMAL_TEXTS = partial(json.loads, parse_float=Decimal)


@dataclass(frozen=True)
class EntryFormat:
    """How files of a Delta table are described in manifests. It can be sent to other machines."""

    location: str
    columns: Columns
    partition: Sequence[Column]

    def entry(
        self, location: str, size: int, rows: int, stats: str | None, partition: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the manifest entry that adds a file."""
        file = {
            "content": 0,
            "file_path": location,
            "file_format": "PARQUET",
            "partition": partition,
            "record_count": rows,
            "file_size_in_bytes": size,
        }
        return {"status": ADDED, "data_file": file | self._metrics(stats)}

    def partition_values(self, text: str) -> dict[str, Any]:
        """Return the partition values of a file for manifests."""
        texts = orjson.loads(text)
        values = (
            partition_value(texts.get(column.physical), column.type, column.name)
            for column in self.partition
        )
        return dict(zip(partition_keys(self.partition), values, strict=True))

    def check_int96_timestamps(self, stats: str | None) -> None:
        """Reject INT96 timestamps that some readers misread, in a file that contains INT96 columns.

        These readers, such as PyIceberg, count nanoseconds in 64 bits. Files without statistics in
        the log are not checked.
        """
        moments = [column for column in self.columns.top if column.type == "timestamptz"]
        if moments and stats is not None:
            _check_timestamps(moments, orjson.loads(stats))

    def _metrics(self, stats: str | None) -> dict[str, Any]:
        if stats is None:
            return {}
        parse = _DECIMAL_TEXTS if self._has_decimals else orjson.loads
        statistics = parse(stats)
        return {
            "null_value_counts": self._counts(statistics.get("nullCount") or {}),
            "lower_bounds": self._bounds(statistics.get("minValues") or {}, upper=False),
            "upper_bounds": self._bounds(statistics.get("maxValues") or {}, upper=True),
        }

    @property
    def _has_decimals(self) -> bool:
        return any(str(column.type).startswith("decimal") for column in self.columns.top)

    def _plain(self, values: Mapping[str, Any]) -> Iterable[tuple[Column, Any]]:
        """Return columns of primitive types that have a value."""
        return (
            (column, values[column.physical])
            for column in self.columns.top
            if isinstance(column.type, str) and values.get(column.physical) is not None
        )

    def _counts(self, values: Mapping[str, Any]) -> list[dict[str, int]]:
        found = self._plain(values)
        return [{"key": column.id, "value": count} for column, count in found if isinstance(count, int)]

    def _bounds(self, values: Mapping[str, Any], *, upper: bool) -> list[dict[str, Any]]:
        found = (
            (column.id, bound(value, column.type, upper=upper)) for column, value in self._plain(values)
        )
        return [{"key": id_, "value": value} for id_, value in found if value is not None]


def _check_timestamps(columns: Iterable[Column], stats: Mapping[str, Any]) -> None:
    for column in columns:
        bounds = ((stats.get(each) or {}).get(column.physical) for each in ("minValues", "maxValues"))
        if not all(bound is None or _fits_nanoseconds(bound) for bound in bounds):
            raise UnsupportedOperation(
                f"column '{column.name}' of the Delta table has timestamps before 1678 or after "
                "2261 of Parquet's type INT96, which PyIceberg and others misread: rewrite the "
                "table with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"
            )


def _fits_nanoseconds(moment: object) -> bool:
    """Return whether nanoseconds fit in 64 bits. The years 1677 and 2262 fit only in part: false."""
    match = _YEAR.match(str(moment))
    return match is not None and _FIRST_YEAR <= int(match[1]) <= _LAST_YEAR
