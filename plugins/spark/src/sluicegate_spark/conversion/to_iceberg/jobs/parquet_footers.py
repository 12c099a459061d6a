"""Reads footers of data files: row counts, field ids, and use of INT96 timestamps.

If a file contains field ids, Iceberg readers resolve columns by id. A Delta log doesn't record
whether files contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO

import obstore
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate.api import TableUnreadable
from sluicegate_spark.conversion.to_iceberg.jobs.difference import TooLargeForWorker
from sluicegate_spark.conversion.to_iceberg.schema import join_path
from sluicegate_spark.objects import ObjectAccess

_TAIL = 32_768  # bytes; most footers fit
_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class FileFooter:
    """What a footer of a data file says.

    Attributes:
        field_ids: Field ids by field path; `None` for a field without an id.
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
