"""Deleted rows: what delete files say of data files (Iceberg specification, "Scan Planning")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from sluicegate.api import Budget, UnsupportedOperation
from sluicegate.formats import DELETION_VECTOR, PLAIN_SCHEMA, FileChunk
from sluicegate_iceberg.format.broken import in_file, named
from sluicegate_iceberg.format.files import DataFiles
from sluicegate_iceberg.format.manifests import Entry, Manifest, entries_of
from sluicegate_iceberg.format.positions import positions_by_file, row_set
from sluicegate_iceberg.format.recipes import PositionDeletes, StoredVector
from sluicegate_iceberg.format.vectors import (
    cardinality_of,
    descriptor,
    payload_in,
    payload_of,
)

_EQUALITY = 2
_LONGEST_VECTOR = 2**31 - 1  # bytes (Delta protocol, "Deletion Vector Descriptor Schema")
_PATH_ID = 2147483546  # of the column `file_path` in files of positions
_VECTOR_COLUMN = PLAIN_SCHEMA.get_field_index("deletion_vector")


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A live file of positions, or a deletion vector in a Puffin file.

    Attributes:
        sequence_number: It applies to data files of this or a smaller one.
        vector_of: The data file that a vector is for; `None` for a file of positions.
        part: Where the vector is in its file: offset and length in bytes.
        first: No data file that it names comes before this location, as UTF-8.
        last: None comes after this one; `None` where that is not known.
    """

    location: str
    sequence_number: int
    vector_of: str | None = None
    part: tuple[int, int] | None = None
    first: bytes = b""
    last: bytes | None = None

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others."""
        return self.location, self.part[0] if self.part else 0

    def may_name(self, data_file: str) -> bool:
        """Whether it may say something of a data file, as far as its manifest tells."""
        path = data_file.encode()
        return self.first <= path and (self.last is None or path <= self.last)


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete file says, by the location of the data file.

    Attributes:
        rows: Of a file of positions: columns `file_path` and `pos_list`, a row for each data file.
        payload: Of a vector.
    """

    file: DeleteFile
    rows: pa.Table | None = None
    payload: bytes | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it holds."""
        return len(self.payload or b"") + (0 if self.rows is None else int(self.rows.nbytes))


def delete_files(
    manifest: Manifest, data: bytes, budget: Budget, oldest: int | None
) -> list[DeleteFile]:
    """The delete files of a manifest of deletes.

    Args:
        manifest: Which one.
        data: The file.
        budget: Counts what is decoded.
        oldest: The smallest sequence number of a live data file, if there is any.

    Raises:
        UnsupportedOperation: Some rows are deleted by the values of columns, or positions are kept in
            other files than Parquet and Puffin.
        TableUnreadable: The manifest is broken, or too large.
    """
    with in_file(manifest.called):
        return list(deletes_among(entries_of(manifest, data, budget), oldest))


def deletes_among(entries: Iterable[Entry], oldest: int | None) -> Iterator[DeleteFile]:
    """The delete files among the entries of a manifest; see `delete_files`."""
    for entry in entries:
        file = entry.file
        if file["content"] == _EQUALITY:
            if oldest is not None and oldest < entry.sequence_number:
                raise UnsupportedOperation(
                    "rows of the Iceberg table are deleted by equality deletes, which recipients "
                    "cannot apply: compact it (rewrite_data_files with delete-file-threshold=1)"
                )
            continue
        yield _delete_file(entry, file)


def _delete_file(entry: Entry, file: Mapping[str, Any]) -> DeleteFile:
    kind = str(file["file_format"]).upper()
    if kind == "PUFFIN":
        offset, size = file["content_offset"], file["content_size_in_bytes"]
        if file["referenced_data_file"] is None or offset < 0 or not 0 < size <= _LONGEST_VECTOR:
            raise ValueError("a deletion vector has no data file, or no place in its file")
        return DeleteFile(
            file["file_path"], entry.sequence_number, file["referenced_data_file"], (offset, size)
        )
    if kind == "PARQUET" and file.get("key_metadata") is None:
        first, last = _named(file)
        return DeleteFile(file["file_path"], entry.sequence_number, first=first, last=last)
    raise UnsupportedOperation(
        f"deleted rows of the Iceberg table are kept in encrypted files or of format {kind.lower()}: "
        "compact it (rewrite_data_files with delete-file-threshold=1)"
    )


def _named(file: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    """The first and the last data file that a file of positions names, perhaps cut short."""
    if (only := file.get("referenced_data_file")) is not None:
        return only.encode(), only.encode()
    lower, upper = (
        {item["key"]: item["value"] for item in file.get(bounds) or () if item is not None}
        for bounds in ("lower_bounds", "upper_bounds")
    )
    return lower.get(_PATH_ID, b""), upper.get(_PATH_ID)


def parse_deletes(file: DeleteFile, data: bytes, budget: Budget) -> Deleted:
    """What a delete file says, of its bytes (of a vector: of its part).

    Raises:
        TableUnreadable: It is broken, or too large.
    """
    if file.vector_of is not None:
        return Deleted(file, payload=payload_in(data))
    return Deleted(file, rows=positions_by_file(data, budget, named("delete file", file.location)))


class DeletedRows:
    """The deleted rows of all data files.

    Args:
        deletes: All that count in a snapshot.
        manifest_list: Location of the snapshot's.
    """

    def __init__(self, deletes: Iterable[Deleted], manifest_list: str) -> None:
        self._manifest_list = manifest_list
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
        """The files of a manifest with the vectors of their deleted rows."""
        touched = pc.indices_nonzero(pc.is_in(files.locations, self._touched)).to_pylist()
        found = {}
        for row in touched:
            location, number = files.locations[row].as_py(), files.sequence_numbers[row].as_py()
            if (vector := self._vector(location, number)) is not None:
                found[row] = vector
        if not found:
            return files.chunk
        column = pa.array([found.get(row) for row in range(len(files))], DELETION_VECTOR)
        plain = files.chunk.plain.set_column(_VECTOR_COLUMN, PLAIN_SCHEMA.field(_VECTOR_COLUMN), column)
        return FileChunk(plain, files.chunk.stats)

    def _vector(self, location: str, sequence_number: int) -> dict[str, Any] | None:
        """A file's vector; where there is one, it holds what files of positions say, too."""
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
