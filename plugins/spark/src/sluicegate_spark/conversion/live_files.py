"""Files of a Delta table as entries of Iceberg manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import orjson
import pyarrow as pa

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import FileSet
from sluicegate_spark.conversion.columns import Column, Columns
from sluicegate_spark.conversion.manifests import ADDED, partition_keys
from sluicegate_spark.conversion.values import bound, partition_value

_BATCH = 8192
_DECIMAL_TEXTS = partial(json.loads, parse_float=Decimal)


@dataclass(frozen=True)
class LiveFiles:
    """The live files of a Delta table.

    Attributes:
        files: As its log has them.
        location: Its directory.
        columns: The Iceberg schema.
        partition: Columns that it is partitioned by, in their order.
    """

    files: FileSet
    location: str
    columns: Columns
    partition: Sequence[Column]

    def sizes(self) -> dict[str, int]:
        """Their sizes in bytes, by their locations.

        Raises:
            UnsupportedOperation: Some are outside of the table's directory.
        """
        files = self.files.table.select(["path", "size"])
        live = files if self.files.live is None else files.filter(self.files.live)
        paths, sizes = (column.to_pylist() for column in live.columns)
        return dict(zip(map(self._location, paths), sizes, strict=True))

    def entries(self, rows: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Entries of manifests that add files.

        Args:
            rows: How many rows the wanted files have, by their locations.
        """
        describe = lru_cache(maxsize=4096)(self._partition)
        for batch in self.files.batches(_BATCH):
            for path, size, stats, partition in _rows(batch):
                location = self._location(path)
                if location in rows:
                    file = self._file(location, size, rows[location], describe(partition))
                    yield {"status": ADDED, "data_file": file | self._metrics(stats)}

    def _location(self, path: str) -> str:
        if "://" not in path:
            return f"{self.location}/{path}"
        if not path.startswith(f"{self.location}/"):
            raise UnsupportedOperation(
                "the Delta table has data files outside of its directory, as shallow clones do, which "
                "its credentials do not open: make it a table of its own (CREATE TABLE … AS SELECT)"
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
        told = orjson.loads(text)
        values = (
            partition_value(told.get(column.physical), column.type, column.name)
            for column in self.partition
        )
        return dict(zip(partition_keys(self.partition), values, strict=True))

    def _metrics(self, stats: str | None) -> dict[str, Any]:
        if stats is None:
            return {}
        parse = _DECIMAL_TEXTS if self._has_decimals else orjson.loads
        told = parse(stats)
        return {
            "null_value_counts": self._counts(told.get("nullCount") or {}),
            "lower_bounds": self._bounds(told.get("minValues") or {}, upper=False),
            "upper_bounds": self._bounds(told.get("maxValues") or {}, upper=True),
        }

    @property
    def _has_decimals(self) -> bool:
        return any(str(column.type).startswith("decimal") for column in self.columns.top)

    def _plain(self, values: Mapping[str, Any]) -> Iterable[tuple[Column, Any]]:
        """Columns of primitive types that have a value."""
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


def _rows(batch: pa.Table) -> Iterable[tuple[str, int, str | None, str]]:
    columns = (batch.column(name) for name in ("path", "size", "stats"))
    partitions = batch.column("partition_values").cast(pa.string())
    return zip(*(column.to_pylist() for column in columns), partitions.to_pylist(), strict=True)
