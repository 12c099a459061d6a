"""Sums the rows of data files of the table `daily`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.budget import Budget
from sluicegate.api.errors import InvalidRequest
from sluicegate.database.names import name_key
from sluicegate.tables.parquet.batches import parquet_batches
from sluicegate.vending.usage.models import UsageQuery, wanted_names
from sluicegate.vending.usage.reads.models import AMOUNTS, GROUPED, Key, Reads

_NAMES = ("share", "schema", "table")
_COLUMNS: Mapping[str, str] = {
    "requests": "requests",
    "failed": "failed_requests",
    "late": "late_requests",
    "files": "read_files",
    "bytes": "read_bytes",
}
"""The column of each amount."""
_SCHEMA = pa.schema(
    [("day", pa.date32())]
    + [(name, pa.string()) for name in _NAMES]
    + [(column, pa.int64()) for column in _COLUMNS.values()]
)
_MOST_KEYS = 1_000_000  # about 500 MB


class Sums:
    """The reads of all files so far."""

    def __init__(self) -> None:
        self.by_key: dict[Key, Reads] = {}

    def add(self, found: Mapping[Key, Reads]) -> None:
        """Add the reads of a file."""
        for key, reads in found.items():
            known = self.by_key.get(key)
            self.by_key[key] = reads if known is None else known + reads
        if len(self.by_key) > _MOST_KEYS:
            raise InvalidRequest(
                f"the report would have more than {_MOST_KEYS:,} rows: select a share or a recipient"
            )


def file_sums(
    data: bytes, recipient: str | None, query: UsageQuery, what: str, budget: Budget
) -> Mapping[Key, Reads]:
    """Sum the rows of a data file that a query selects."""
    sums, count = Sums(), 0
    names = [(column, keys) for column, keys in wanted_names(query) if column in _NAMES]
    for batch in parquet_batches(data, _SCHEMA, what, budget):
        count += len(batch)
        rows = batch.filter(_selected(batch, query, names))
        if rows.num_rows:
            sums.add(_grouped(rows, recipient, GROUPED[query.by]))
    budget.take(what, rows=count)
    return sums.by_key


def _selected(
    batch: pa.RecordBatch, query: UsageQuery, names: Collection[tuple[str, Collection[str]]]
) -> pa.BooleanArray:
    days = batch.column("day").cast(pa.int32())
    mask = pc.and_(pc.greater_equal(days, query.since), pc.less_equal(days, query.until))
    mask = pc.and_(mask, pc.greater(batch.column("requests"), 0))
    for column, keys in names:
        mask = pc.and_(mask, _has_name(batch.column(column), keys))
    return mask


def _has_name(names: pa.DictionaryArray, keys: Collection[str]) -> pa.BooleanArray:
    """Which names have one of these casefolded forms. Nulls have none."""
    verdicts = [name_key(name) in keys for name in names.dictionary.to_pylist()]
    return pc.fill_null(pa.array(verdicts, pa.bool_()).take(names.indices), False)


def _grouped(
    rows: pa.RecordBatch, recipient: str | None, columns: Collection[str]
) -> Mapping[Key, Reads]:
    keys = {
        "day": rows.column("day").cast(pa.int32()),
        "recipient": pa.repeat(pa.scalar(recipient, pa.string()), rows.num_rows),
        **{name: rows.column(name).cast(pa.string()) for name in _NAMES},
    }
    table = pa.table(
        {name: keys[name] for name in columns}
        | {amount: rows.column(column) for amount, column in _COLUMNS.items()}
    )
    grouped = table.group_by([*columns]).aggregate([(amount, "sum") for amount in AMOUNTS])
    return {
        tuple(row[name] for name in columns): Reads(*(row[f"{name}_sum"] or 0 for name in AMOUNTS))
        for row in grouped.to_pylist()
    }
