"""Reads footers of data files on Spark: row counts, field ids, and use of INT96 timestamps.

If a file contains field ids, Iceberg readers resolve columns by id. A Delta log doesn't record
whether files contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Final

import obstore
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate.api import TableUnreadable
from sluicegate_spark.conversion.to_iceberg.schema import join_path
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES: Final = pa.schema([("location", pa.string()), ("size", pa.int64())])
FOUND: Final = pa.schema(
    [
        ("location", pa.string()),
        ("rows", pa.int64()),
        ("field_ids", pa.string()),  # JSON: field ids by field path; null if there is none
        ("int96", pa.bool_()),
        ("broken", pa.string()),
    ]
)
_SPARK_FOUND = "location string, rows long, field_ids string, int96 boolean, broken string"
_FILES_AT_ONCE = 16
_FILES_A_TASK = 256
_TAIL = 32_768  # bytes; most footers fit
_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)
_FIELD_ID = b"PARQUET:field_id"


def read_footers(spark: SparkSession, files: pa.Table, access: ObjectAccess) -> pa.Table:
    """Read the footers of files.

    Args:
        spark: The session that reads them on the cluster.
        files: Rows of `FILES`.
        access: Opens the files.

    Returns:
        Columns of `FOUND`, in any order.
    """
    tasks = max(1, -(-files.num_rows // _FILES_A_TASK))
    frame = spark.createDataFrame(files).repartition(tasks)
    return frame.mapInArrow(partial(_found, access), _SPARK_FOUND).toArrow().cast(FOUND)


def _found(access: ObjectAccess, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        for batch in batches:
            locations, sizes = (batch.column(name).to_pylist() for name in FILES.names)
            rows = list(pool.map(partial(_footer, access), locations, sizes))
            yield pa.RecordBatch.from_pylist(rows, FOUND)


def _footer(access: ObjectAccess, location: str, size: int) -> dict[str, object]:
    try:
        footer = pq.read_metadata(BytesIO(_MAGIC + _tail(access, location, size)))
        kinds = {footer.schema.column(number).physical_type for number in range(footer.num_columns)}
        return {
            "location": location,
            "rows": footer.num_rows,
            "field_ids": orjson.dumps(dict(_field_ids(footer.schema.to_arrow_schema(), ()))).decode(),
            "int96": "INT96" in kinds,
        }
    except (FileNotFoundError, pa.ArrowException, TableUnreadable, ValueError) as error:
        return {"location": location, "broken": type(error).__name__}


def _tail(access: ObjectAccess, location: str, size: int) -> bytes:
    store, key = access.open(location)
    length = min(size, _TAIL)
    tail = bytes(obstore.get_range(store, key, start=size - length, length=length))
    if not tail.endswith(_MAGIC):
        raise TableUnreadable("no Parquet file")
    wanted = int.from_bytes(tail[-_END:-4], "little") + _END
    if wanted <= length:
        return tail
    return bytes(obstore.get_range(store, key, start=size - wanted, length=wanted))


def _field_ids(
    fields: Iterable[pa.Field], parents: tuple[str, ...]
) -> Iterator[tuple[str, int | None]]:
    for field in fields:
        yield from _place(field, field.name, parents)


def _place(field: pa.Field, name: str, parents: tuple[str, ...]) -> Iterator[tuple[str, int | None]]:
    """Collect a field and its nested fields. Parts of lists and maps are named by role."""
    levels, type_ = (*parents, name), field.type
    id_ = (field.metadata or {}).get(_FIELD_ID)
    yield join_path(levels), None if id_ is None or int(id_) < 0 else int(id_)
    if pa.types.is_struct(type_):
        yield from _field_ids(type_.fields, levels)
    elif pa.types.is_map(type_):
        yield from _place(type_.key_field, "key", levels)
        yield from _place(type_.item_field, "value", levels)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from _place(type_.value_field, "element", levels)
