"""Reads deleted rows from delete files (Iceberg specification, "Scan Planning")."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from sluicegate.api import Budget, UnsupportedOperation
from sluicegate.formats import DELETION_VECTOR, PLAIN_SCHEMA, FileChunk
from sluicegate_iceberg.format.broken import in_file, named
from sluicegate_iceberg.format.deletes.positions import positions_by_file, row_set
from sluicegate_iceberg.format.deletes.recipes import PositionDeletes, StoredVector
from sluicegate_iceberg.format.deletes.vectors import (
    cardinality_of,
    descriptor,
    payload_in,
    payload_of,
)
from sluicegate_iceberg.format.manifests.data_files import DataFiles
from sluicegate_iceberg.format.manifests.manifest_files import Entry, Manifest, entries_of

_EQUALITY = 2
# The operation of the delegation service that removes all delete files, and Iceberg's own procedure.
_COMPACT = (
    "the provider must compact the table (sluicegate tasks submit, with the operation TABLE_COMPACTION "
    "and the property delete-file-threshold=1; or rewrite_data_files with the same option)"
)
_LONGEST_VECTOR = 2**31 - 1  # bytes (Delta protocol, "Deletion Vector Descriptor Schema")
_PATH_ID = 2147483546  # field id of the column `file_path` in position delete files
_VECTORS = "the deletion vectors of its files"
_COPIES = 2  # of a vector while the column is made
_FILE_BYTES = 400  # memory of a delete file without its location and bounds
_VECTOR_COLUMN = PLAIN_SCHEMA.get_field_index("deletion_vector")


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A live position delete file, or a deletion vector in a Puffin file.

    Attributes:
        vector_of: The data file of a vector; `None` for a position delete file.
        part: Position of the vector in its file: offset and length in bytes.
        last: Upper bound of these locations; `None` if unknown.
    """

    location: str
    sequence_number: int
    vector_of: str | None = None
    part: tuple[int, int] | None = None
    first: bytes = b""
    last: bytes | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Return its unique key."""
        return self.location, self.part[0] if self.part else 0

    def may_name(self, data_file: str) -> bool:
        """Return whether it might apply to a data file, according to its manifest entry."""
        path = data_file.encode()
        return self.first <= path and (self.last is None or path <= self.last)


@dataclass(frozen=True, slots=True)
class Deleted:
    """Content of a delete file, by location of the data file."""

    file: DeleteFile
    rows: pa.Table | None = None
    payload: bytes | None = None

    @property
    def nbytes(self) -> int:
        """Return its size in memory, in bytes."""
        return len(self.payload or b"") + (0 if self.rows is None else int(self.rows.nbytes))


def delete_files(
    manifest: Manifest, data: bytes, budget: Budget, oldest: int | None
) -> list[DeleteFile]:
    """Return the delete files in a delete manifest."""
    found = []
    with in_file(manifest.called):
        for file in deletes_among(entries_of(manifest, data, budget), oldest):
            found.append(file)
            texts = (file.location, file.vector_of or "", file.first, file.last or b"")
            budget.take(manifest.called, bytes=_FILE_BYTES + sum(map(sys.getsizeof, texts)))
    return found


def deletes_among(entries: Iterable[Entry], oldest: int | None) -> Iterator[DeleteFile]:
    """Return the delete files among the entries of a manifest; see `delete_files`."""
    for entry in entries:
        file = entry.file
        if file["content"] == _EQUALITY:
            if oldest is not None and oldest < entry.sequence_number:
                raise UnsupportedOperation(
                    "rows of the Iceberg table are deleted by equality deletes, which recipients "
                    f"cannot apply: {_COMPACT}"
                )
            continue
        yield _delete_file(entry, file)


def _delete_file(entry: Entry, file: Mapping[str, Any]) -> DeleteFile:
    kind = str(file["file_format"]).upper()
    if kind == "PUFFIN":
        offset, size = file["content_offset"], file["content_size_in_bytes"]
        if file["referenced_data_file"] is None or offset < 0 or not 0 < size <= _LONGEST_VECTOR:
            raise ValueError("a deletion vector lacks its data file, offset or size")
        return DeleteFile(
            file["file_path"], entry.sequence_number, file["referenced_data_file"], (offset, size)
        )
    if kind == "PARQUET" and file.get("key_metadata") is None:
        first, last = _named(file)
        return DeleteFile(file["file_path"], entry.sequence_number, first=first, last=last)
    raise UnsupportedOperation(
        "deleted rows of the Iceberg table are stored in encrypted files or in the format "
        f"{kind.lower()}: {_COMPACT}"
    )


def _named(file: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    """Return bounds of the data file locations in a position delete file; they may be truncated."""
    if (only := file.get("referenced_data_file")) is not None:
        return only.encode(), only.encode()
    lower, upper = (
        {item["key"]: item["value"] for item in file.get(bounds) or () if item is not None}
        for bounds in ("lower_bounds", "upper_bounds")
    )
    return lower.get(_PATH_ID, b""), upper.get(_PATH_ID)


def parse_deletes(file: DeleteFile, data: bytes, budget: Budget) -> Deleted:
    """Parse the content of a delete file (for a vector: of its part of the file)."""
    if file.vector_of is not None:
        return Deleted(file, payload=payload_in(data))
    return Deleted(file, rows=positions_by_file(data, budget, named("delete file", file.location)))


class DeletedRows:
    """The deleted rows of all data files.

    Args:
        budget: Counts vectors, because very many entries of a manifest can name the same data file.
    """

    def __init__(self, deletes: Iterable[Deleted], manifest_list: str, budget: Budget) -> None:
        self._manifest_list, self._budget = manifest_list, budget
        self._vectors: dict[str, tuple[DeleteFile, bytes]] = {}
        self._positions: dict[str, list[tuple[int, pa.ListScalar]]] = defaultdict(list)
        for each in deletes:
            number = each.file.sequence_number
            if each.file.vector_of is not None and each.payload is not None:
                self._vectors[each.file.vector_of] = each.file, each.payload
            elif each.rows is not None:
                columns = (each.rows.column(name) for name in ("file_path", "pos_list"))
                for path, rows in zip(*columns, strict=True):
                    self._positions[path.as_py()].append((number, rows))
        self._touched = pa.array({*self._vectors, *self._positions}, pa.string())

    def apply(self, files: DataFiles) -> FileChunk:
        """Add vectors of deleted rows to the files of a manifest."""
        touched = pc.indices_nonzero(pc.is_in(files.locations, self._touched)).to_pylist()
        vector = cache(self._vector)
        found = {}
        for row in touched:
            made = vector(files.locations[row].as_py(), files.sequence_numbers[row].as_py())
            if made is not None:
                found[row] = made
                self._budget.take(_VECTORS, bytes=_COPIES * len(made["pathOrInlineDv"]))
        if not found:
            return files.chunk
        column = pa.array([found.get(row) for row in range(len(files))], DELETION_VECTOR)
        plain = files.chunk.plain.set_column(_VECTOR_COLUMN, PLAIN_SCHEMA.field(_VECTOR_COLUMN), column)
        return FileChunk(plain, files.chunk.stats)

    def _vector(self, location: str, sequence_number: int) -> dict[str, Any] | None:
        """Return a file's vector. If it exists, it includes the rows of position delete files."""
        if location in self._vectors:
            file, payload = self._vectors[location]
            if file.sequence_number >= sequence_number and file.part is not None:
                stored = StoredVector(file.location, *file.part)
                return descriptor(payload, cardinality_of(payload), stored)
        rows = BitMap64()
        for number, positions in self._positions.get(location, ()):
            if number >= sequence_number:
                rows |= row_set(positions.values)
        if not rows:
            return None
        recipe = PositionDeletes(self._manifest_list, location, sequence_number)
        return descriptor(payload_of(rows), len(rows), recipe)
