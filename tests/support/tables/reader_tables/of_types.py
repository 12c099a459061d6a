"""Tables of every type, nested and not, as every layout of data files has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.tables.deltalog import Action, protocol
from support.tables.parquet_footers import renamed_groups
from support.tables.reader_tables.folder import WRITE, TableFolder
from support.tables.reader_tables.served import ReaderTable, Served
from support.tables.reader_tables.values import rows_of

INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NUMBERS = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "digit": pa.decimal128(1, 0),
}
COMPARED = {**NUMBERS, "text": pa.string(), "day": pa.date32(), "moment": INSTANT}
PRIMITIVES = {**COMPARED, "flag": pa.bool_(), "bytes": pa.binary()}
_INNER = pa.struct({"text": pa.string(), "deep": pa.struct({"int": pa.int32(), "long": pa.int64()})})
_NESTED = {
    "id": pa.int32(),
    "record": _INNER,
    "cube": pa.list_(pa.list_(pa.list_(pa.int32()))),
    "maps": pa.list_(pa.map_(pa.string(), pa.int64())),
    "records": pa.list_(pa.struct({"val": pa.int32()})),
    "by_int": pa.map_(pa.int32(), pa.int64()),
    "records_by_int": pa.map_(pa.int32(), pa.struct({"val": pa.int64()})),
    "lists_by_long": pa.map_(pa.int64(), pa.list_(pa.int32())),
}
_SCALES = {4: (0, 2), 9: (0, 6), 10: (0,), 18: (0, 12), 25: (6, 24), 38: (0, 18, 36)}
_DECIMALS = {
    f"decimal_{precision}_{scale}": pa.decimal128(precision, scale)
    for precision, scales in _SCALES.items()
    for scale in scales
}


def _written(
    root: Path,
    *,
    columns: Mapping[str, pa.DataType],
    features: Sequence[str] = (),
    reader: int = 1,
    stats: bool = False,
    mode: str | None = None,
    write: Callable[[pa.Table, Path], None] = WRITE,
) -> None:
    """A table of two files: a row of nulls in the first one, no row in the second one."""
    schema = pa.schema(columns)
    table, rows = TableFolder(root, schema, mode=mode, write=write), rows_of(schema, [7, None, -3, 0])
    adds = [table.file("a.parquet", rows, stats=stats), table.file("b.parquet", [], stats=stats)]
    info: Action = {"commitInfo": {"operation": "WRITE"}}
    table.log.commit(0, info, protocol(reader, *features), table.metadata(), *adds)
    table.expect(rows)


def _statistics(root: Path, *, mode: str | None = None, checkpoint: bool = False) -> None:
    """One row in one file, and bounds of every type that has them."""
    schema = pa.schema(COMPARED)
    table, rows = TableFolder(root, schema, mode=mode), rows_of(schema, [1])
    interval = {"delta__checkpointInterval": "1"} if checkpoint else {}
    state = [protocol(2 if mode else 1), table.metadata(**interval), table.file("a.parquet", rows)]
    table.log.commit(0, *state)
    if checkpoint:
        table.log.parquet(f"{0:020}.checkpoint.parquet", state)
        table.log.hint('{"version":0,"size":3}')
    table.expect(rows)


def _times(root: Path, *, kind: pa.DataType, features: Sequence[str] = (), **options: Any) -> None:
    """Times in files and in partition values, with and without fractions of a second, and nulls."""
    schema = pa.schema({"id": pa.int32(), "part": kind, "time": kind})
    table = TableFolder(root, schema, partitioned_by=["part"], **options)
    first, second, third, empty = rows_of(schema, [1, 2, 3, None])
    rows = [first, second | {"time": None}, third | {"part": first["part"]}, empty | {"id": 4}]
    adds = [table.file(f"{row['id']}.parquet", [row]) for row in rows]
    table.log.commit(0, protocol(1, *features), table.metadata(), *adds)
    table.expect(rows)


def _write_bags(data: pa.Table, path: Path) -> None:
    """Lists as Spark writes them with `spark.sql.parquet.writeLegacyFormat`: `bag.array`."""
    pq.write_table(data, path, store_schema=False, use_compliant_nested_type=False)
    path.write_bytes(renamed_groups(path.read_bytes(), b"list", b"bag"))


def _bag(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("array", kind))


_BAGS = {
    "prims": _bag(pa.int32()),
    "square": _bag(_bag(pa.int32())),
    "records": _bag(pa.struct({"val": pa.int64()})),
    "lists_by_long": pa.map_(pa.int64(), _bag(pa.int32())),
}
_LEGACY = {**PRIMITIVES, "local": LOCAL, "record": _INNER, **_BAGS}
_MAPPED = {**PRIMITIVES, **_NESTED}
_ARRAYS = {f"{name}s": pa.list_(kind) for name, kind in PRIMITIVES.items()}
_INT96 = partial(WRITE, use_deprecated_int96_timestamps=True)
_MILLIS = partial(WRITE, coerce_timestamps="ms")
_AS_INTEGERS = partial(WRITE, store_decimal_as_integer=True)
_NTZ, _MAPPING = "timestampNtz", "columnMapping"

TABLES = {
    "types-primitive": ReaderTable(partial(_written, columns=PRIMITIVES, write=_AS_INTEGERS)),
    "types-primitive-int96": ReaderTable(partial(_written, columns=PRIMITIVES, write=_INT96)),
    "types-arrays": ReaderTable(partial(_written, columns=_ARRAYS)),
    "types-nested": ReaderTable(partial(_written, columns=_NESTED, stats=True)),
    "types-decimals": ReaderTable(partial(_written, columns=_DECIMALS, stats=True, write=_AS_INTEGERS)),
    "types-decimals-as-bytes": ReaderTable(partial(_written, columns=_DECIMALS, stats=True)),
    "types-legacy-layout": ReaderTable(
        partial(_written, columns=_LEGACY, features=(_NTZ,), write=_write_bags), Served((_NTZ,))
    ),
    "mapped-by-id": ReaderTable(
        partial(_written, columns=_MAPPED, reader=2, mode="id", stats=True, write=_INT96),
        Served((_MAPPING,)),
    ),
    "mapped-by-name": ReaderTable(
        partial(_written, columns=_MAPPED, reader=2, mode="name", stats=True), Served((_MAPPING,))
    ),
    "statistics": ReaderTable(_statistics),
    "statistics-in-a-checkpoint": ReaderTable(partial(_statistics, checkpoint=True)),
    "statistics-mapped-by-id": ReaderTable(partial(_statistics, mode="id"), Served((_MAPPING,))),
    "times-int96": ReaderTable(partial(_times, kind=INSTANT, write=_INT96)),
    "times-in-microseconds": ReaderTable(partial(_times, kind=INSTANT)),
    "times-in-milliseconds": ReaderTable(partial(_times, kind=INSTANT, write=_MILLIS)),
    "times-local": ReaderTable(partial(_times, kind=LOCAL, features=(_NTZ,)), Served((_NTZ,))),
    "times-local-mapped-by-id": ReaderTable(
        partial(_times, kind=LOCAL, features=(_NTZ, _MAPPING), mode="id"), Served((_NTZ, _MAPPING))
    ),
}
