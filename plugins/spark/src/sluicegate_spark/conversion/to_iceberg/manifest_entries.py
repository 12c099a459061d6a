"""Translates files of a Delta table to entries of Iceberg manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import orjson
import pyarrow as pa

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import FileSet
from sluicegate_spark.conversion.to_iceberg.manifests import ADDED, partition_keys
from sluicegate_spark.conversion.to_iceberg.schema import Column, Columns
from sluicegate_spark.conversion.to_iceberg.value_encoding import bound, partition_value

_BATCH = 8192
_YEAR = re.compile(r"([0-9]{4})-")
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_DECIMAL_TEXTS = partial(json.loads, parse_float=Decimal)


@dataclass(frozen=True)
class LiveFiles:
    """The live files of a Delta table.

    Attributes:
        files: Files as in the log.
        location: The table's directory.
        columns: The Iceberg schema.
        partition: The partition columns, in order.
    """

    files: FileSet
    location: str
    columns: Columns
    partition: Sequence[Column]

    def sizes(self) -> dict[str, int]:
        """Return sizes in bytes, by file location.

        Raises:
            UnsupportedOperation: Some files are outside the table's directory.
        """
        files = self.files.table.select(["path", "size"])
        live = files if self.files.live is None else files.filter(self.files.live)
        paths, sizes = (column.to_pylist() for column in live.columns)
        return dict(zip(map(self._location, paths), sizes, strict=True))

    def entries(self, rows: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Return manifest entries that add files.

        Args:
            rows: Row counts of the files to add, by location.
        """
        describe = lru_cache(maxsize=4096)(self._partition)
        for batch in self.files.batches(_BATCH):
            for path, size, stats, partition in _rows(batch):
                location = self._location(path)
                if location in rows:
                    file = self._file(location, size, rows[location], describe(partition))
                    yield {"status": ADDED, "data_file": file | self._metrics(stats)}

    def check_int96_timestamps(self, int96: Container[str]) -> None:
        """Reject INT96 timestamps that some readers misread.

        These readers, such as PyIceberg, count nanoseconds in 64 bits. Files without statistics in
        the log are not checked.

        Args:
            int96: Locations of the files that contain INT96 columns.

        Raises:
            UnsupportedOperation: There are such timestamps.
        """
        moments = [column for column in self.columns.top if column.type == "timestamptz"]
        for batch in self.files.batches(_BATCH) if moments else ():
            for path, _, stats, _ in _rows(batch):
                if stats is not None and self._location(path) in int96:
                    _check_timestamps(moments, orjson.loads(stats))

    def _location(self, path: str) -> str:
        if "://" not in path:
            return f"{self.location}/{path}"
        if not path.startswith(f"{self.location}/"):
            raise UnsupportedOperation(
                "the Delta table has data files outside of its directory, as shallow clones do, "
                "and its credentials do not cover them: make it an independent table (CREATE "
                "TABLE … AS SELECT)"
            )
        return path

    def _file(
        self, location: str, size: int, rows: int, partition: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "content": 0,
            "file_path": location,
            "file_format": "PARQUET",
            "partition": partition,
            "record_count": rows,
            "file_size_in_bytes": size,
        }

    def _partition(self, text: str) -> dict[str, Any]:
        texts = orjson.loads(text)
        values = (
            partition_value(texts.get(column.physical), column.type, column.name)
            for column in self.partition
        )
        return dict(zip(partition_keys(self.partition), values, strict=True))

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


def _rows(batch: pa.Table) -> Iterable[tuple[str, int, str | None, str]]:
    columns = (batch.column(name) for name in ("path", "size", "stats"))
    partitions = batch.column("partition_values").cast(pa.string())
    return zip(*(column.to_pylist() for column in columns), partitions.to_pylist(), strict=True)
