"""Checks on executors the files that a conversion adds, and reads their footers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.formats import check_added_files
from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of
from sluicegate_spark.conversion.to_iceberg.jobs.difference import TooLargeForWorker
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.schema import join_path
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_field_ids(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> None:
    """Reject a file in which Iceberg readers would confuse columns or not find them."""
    if not ids_match(file, field_ids):
        raise UnsupportedOperation(
            "the data files of the Delta table contain field ids that differ from the table's, "
            "or lack field ids of lists and maps, so readers of Iceberg would confuse "
            "columns or read them as empty: rewrite them (with delta.enableIcebergCompatV2, "
            "or without column mapping)"
        )


def fields_without_columns(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> set[str]:
    """Return paths of fields that are in a data file without field ids, but not in the table."""
    if any(id_ is not None for id_ in file.values()):
        return set()
    return file.keys() - field_ids.keys()


def check_case(dropped: Iterable[str], field_ids: Mapping[str, int]) -> None:
    """Reject fields that differ from a column only in case."""
    in_lower_case = {path.lower() for path in field_ids}
    other_case = sorted(path for path in dropped if path.lower() in in_lower_case)
    if other_case:
        name = other_case[0].rpartition("\0")[2]
        raise UnsupportedOperation(
            f"the data files of the Delta table contain the column '{name}' in a different case "
            "than the table, so readers of Iceberg would read it as null: rewrite them"
        )


def ids_match(file: Mapping[str, int | None], field_ids: Mapping[str, int]) -> bool:
    """Return whether all fields of a file are found by name, or all by id."""
    if all(id_ is None for id_ in file.values()):
        return True  # by the name mapping
    names = {id_: path for path, id_ in field_ids.items()}
    return all(_is_found(path, id_, field_ids, names) for path, id_ in file.items())


def _is_found(
    path: str, id_: int | None, field_ids: Mapping[str, int], names: Mapping[int, str]
) -> bool:
    if id_ is None:
        return path not in field_ids
    return field_ids.get(path, id_) == id_ and names.get(id_, path) == path


_TAIL = 32_768  # bytes; most footers fit
_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class FileFooter:
    """What a footer of a data file says.

    Attributes:
        field_ids: Field ids by column path; `None` for a column without an id.
    """

    rows: int
    field_ids: dict[str, int | None]
    int96: bool


def read_footer(
    access: ObjectAccess, location: str, size: int, longest: int | None = None
) -> FileFooter | str:
    """Read the footer of a file, or return why the file is broken."""
    try:
        footer = pq.read_metadata(BytesIO(_MAGIC + _tail(access, location, size, longest)))
        kinds = {footer.schema.column(number).physical_type for number in range(footer.num_columns)}
        field_ids = dict(_field_ids(footer.schema.to_arrow_schema(), ()))
        return FileFooter(footer.num_rows, field_ids, "INT96" in kinds)
    except (FileNotFoundError, pa.ArrowException, TableUnreadable, ValueError) as error:
        return type(error).__name__


def _tail(access: ObjectAccess, location: str, size: int, longest: int | None) -> bytes:
    store, key = access.open(location)
    length = min(size, _TAIL)
    tail = bytes(obstore.get_range(store, key, start=size - length, length=length))
    if not tail.endswith(_MAGIC):
        raise TableUnreadable("no Parquet file")
    wanted = int.from_bytes(tail[-_END:-4], "little") + _END
    if wanted <= length:
        return tail
    if longest is not None and wanted > longest:
        raise TooLargeForWorker(f"the footer of {location} has {wanted} bytes")
    return bytes(obstore.get_range(store, key, start=size - wanted, length=wanted))


def _field_ids(
    fields: Iterable[pa.Field], parents: tuple[str, ...]
) -> Iterator[tuple[str, int | None]]:
    for column in fields:
        yield from _place(column, column.name, parents)


def _place(column: pa.Field, name: str, parents: tuple[str, ...]) -> Iterator[tuple[str, int | None]]:
    """Collect a column and its nested fields. Parts of lists and maps are named by role."""
    levels, type_ = (*parents, name), column.type
    id_ = (column.metadata or {}).get(_FIELD_ID)
    yield join_path(levels), None if id_ is None or int(id_) < 0 else int(id_)
    if pa.types.is_struct(type_):
        yield from _field_ids(type_.fields, levels)
    elif pa.types.is_map(type_):
        yield from _place(type_.key_field, "key", levels)
        yield from _place(type_.item_field, "value", levels)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from _place(type_.value_field, "element", levels)


# `broken` says why a file cannot be read, and `failure` is the text of an error. `dropped` contains
# paths of fields that are no columns of the table.
_CHECKED = pa.schema(
    [
        ("location", pa.string()),
        ("size", pa.int64()),
        ("partition_values", pa.string()),
        ("stats", pa.string()),
        ("rows", pa.int64()),
        ("dropped", pa.list_(pa.string())),
        ("broken", pa.string()),
        ("failure", pa.string()),
    ]
)
_SPARK_CHECKED = (
    "location string, size long, partition_values string, stats string, rows long, "
    "dropped array<string>, broken string, failure string"
)
ADDED = _CHECKED.names[:4]
"""The columns of files to add."""
_FILES_AT_ONCE = 16
_PARTITIONS = 4096


def checked_files(added: DataFrame, entries: EntryFormat, access: ObjectAccess) -> DataFrame:
    """Check files that a conversion adds.

    Returns:
        The same columns, and `rows`, `dropped`, `broken` and `failure`.
    """
    field_ids = entries.columns.field_ids
    return added.mapInArrow(Checks(entries, field_ids, access), _SPARK_CHECKED)


@dataclass(frozen=True)
class Checks:
    """For `mapInArrow`: maps files to checked files.

    Attributes:
        longest: Largest number of bytes of a footer, or `None`. Longer ones raise `TooLargeForWorker`.
    """

    entries: EntryFormat
    field_ids: Mapping[str, int]
    access: ObjectAccess = field(repr=False)
    longest: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the files with `rows`, `dropped`, `broken`, and `failure`."""
        check_partition = lru_cache(_PARTITIONS)(self._partition_failure)
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            for batch in batches:
                files = batch.select(ADDED).to_pylist()
                rows = []
                for file, found in zip(files, pool.map(self._checked, files), strict=True):
                    partition = file["partition_values"] or "{}"
                    row = {**file, **found, "partition_values": partition}
                    rows.append({**row, "failure": row.get("failure") or check_partition(partition)})
                yield pa.RecordBatch.from_pylist(rows, _CHECKED)

    def _checked(self, file: Mapping[str, Any]) -> dict[str, Any]:
        try:
            paths = pa.array([file["location"]], pa.string())
            sizes = pa.array([file["size"]], pa.int64())
            check_added_files(paths, sizes, "the Delta log")
            footer = read_footer(self.access, file["location"], file["size"], self.longest)
            if isinstance(footer, str):
                return {"broken": footer}
            return self._described(footer, file["stats"])
        except EXPECTED as error:
            return {"failure": failure_of(error)}

    def _described(self, footer: FileFooter, stats: str | None) -> dict[str, Any]:
        check_field_ids(footer.field_ids, self.field_ids)
        dropped = fields_without_columns(footer.field_ids, self.field_ids)
        check_case(dropped, self.field_ids)
        if footer.int96:
            self.entries.check_int96_timestamps(stats)
        return {"rows": footer.rows, "dropped": sorted(dropped)}

    def _partition_failure(self, text: str) -> str | None:
        try:
            self.entries.partition_values(text)
        except EXPECTED as error:
            return failure_of(error)
        return None
