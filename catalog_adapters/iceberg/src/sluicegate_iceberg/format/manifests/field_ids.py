"""Checks whether data files contain field ids. With a name mapping, only their footers show that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate.api import Budget, TableUnreadable, UnsupportedOperation
from sluicegate.formats import check_parquet_footer
from sluicegate_iceberg.format.broken import in_file
from sluicegate_iceberg.format.manifests.data_files import DataFiles
from sluicegate_iceberg.format.objects import TableObjects

MOST_FILES: Final = 2_000
"""Number of data files whose footers are checked."""
_TAIL = 16_384  # bytes; most footers fit
_LONGEST = 16 << 20  # bytes of a footer
_WHAT = "the footer of a data file"
_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)  # bytes of the footer's length, and of the marker after it
_FIELD_ID = b"PARQUET:field_id"


async def check_field_ids(objects: TableObjects, manifests: Iterable[DataFiles]) -> None:
    """Check the footers of data files (Parquet format, "File format")."""
    files = [pair for each in manifests for pair in _files(each)]
    if len(files) > MOST_FILES:
        raise too_many_to_check()
    footers = await _tails(objects, files, [_TAIL] * len(files))
    longer = [number for number, footer in enumerate(footers) if _length(footer) > len(footer)]
    lengths = [_length(footers[number]) for number in longer]
    again = await _tails(objects, [files[number] for number in longer], lengths)
    for number, footer in zip(longer, again, strict=True):
        footers[number] = footer
    if not await objects.decode(_have_ids, footers, objects.budget):
        raise _unknown("data files lack")


def too_many_to_check() -> UnsupportedOperation:
    """Return the error for a table with more than `MOST_FILES` data files that might lack field ids."""
    return _unknown(f"more than {MOST_FILES} data files may lack")


def _files(manifest: DataFiles) -> Iterable[tuple[str, int]]:
    sizes = manifest.chunk.unpack().column("size").to_pylist()
    return zip(manifest.locations.to_pylist(), sizes, strict=True)


async def _tails(
    objects: TableObjects, files: Sequence[tuple[str, int]], lengths: Sequence[int]
) -> list[bytes]:
    kept = [min(size, length) for (_, size), length in zip(files, lengths, strict=True)]
    parts = [(size - length, length) for (_, size), length in zip(files, kept, strict=True)]
    return await objects.read_all([location for location, _ in files], parts)


def _length(tail: bytes) -> int:
    """Return the length of a file's footer, including its end marker, in bytes."""
    if not tail.endswith(_MAGIC):
        raise TableUnreadable("a data file of the Iceberg table is not a Parquet file")
    length = int.from_bytes(tail[-_END:-4], "little") + _END
    if length > _LONGEST:
        raise TableUnreadable(f"{_WHAT} has a footer of {length} bytes")
    return length


def _have_ids(footers: Sequence[bytes], budget: Budget) -> bool:
    return all(_has_ids(footer, budget) for footer in footers)


def _has_ids(footer: bytes, budget: Budget) -> bool:
    with in_file(_WHAT):
        counted = check_parquet_footer(footer, _WHAT, budget)
        schema = pq.read_metadata(BytesIO(_MAGIC + footer)).schema.to_arrow_schema()
    numbered = all(_is_numbered(field) for field in schema)
    budget.take(_WHAT, bytes=-counted)
    return numbered


def _is_numbered(field: pa.Field) -> bool:
    if _FIELD_ID not in (field.metadata or {}):
        return False
    type_ = field.type
    if pa.types.is_map(type_):
        return _is_numbered(type_.key_field) and _is_numbered(type_.item_field)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _is_numbered(type_.value_field)
    return not pa.types.is_struct(type_) or all(map(_is_numbered, type_.fields))


def _unknown(what: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"columns of the Iceberg table were renamed, it has a name mapping, and {what} field ids: "
        "rewrite its data files (rewrite_data_files, rewrite-all)"
    )
