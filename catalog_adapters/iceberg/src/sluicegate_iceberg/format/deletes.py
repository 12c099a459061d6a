"""Deleted rows: what delete files say of data files (Iceberg specification, "Scan Planning")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.formats import DELETION_VECTOR, PLAIN_SCHEMA, FileChunk
from sluicegate_iceberg.format.files import DataFiles
from sluicegate_iceberg.format.manifests import Entry
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_iceberg.format.vectors import (
    cardinality_of,
    descriptor,
    payload_in,
    payload_of,
)

_POSITION, _EQUALITY = 1, 2
_VECTOR_COLUMN = PLAIN_SCHEMA.get_field_index("deletion_vector")


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A live file of positions, or a deletion vector in a Puffin file.

    Attributes:
        sequence_number: It applies to data files of this or a smaller one.
        vector_of: The data file that a vector is for; `None` for a file of positions.
        part: Where the vector is in its file: offset and length in bytes.
    """

    location: str
    sequence_number: int
    vector_of: str | None = None
    part: tuple[int, int] | None = None

    @property
    def place(self) -> str | None:
        """Where the gateway serves a vector from: its location, and its part of the file."""
        if self.part is None:
            return None
        offset, size = self.part
        return f"{literal_location(self.location)}#deletion-vector={offset}-{size}"

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others."""
        return self.location, self.part[0] if self.part else 0


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


def delete_files(entries: Iterable[Entry], oldest: int | None) -> list[DeleteFile]:
    """The delete files of a manifest of deletes.

    Args:
        entries: The manifest's.
        oldest: The smallest sequence number of a live data file, if there is any.

    Raises:
        UnsupportedOperation: Some rows are deleted by the values of columns, or positions are kept in
            other files than Parquet and Puffin.
    """
    found = []
    for entry in entries:
        file = entry.file
        if file["content"] == _EQUALITY:
            if oldest is not None and oldest < entry.sequence_number:
                raise UnsupportedOperation(
                    "rows of the Iceberg table are deleted by equality deletes, which recipients "
                    "cannot apply: compact it (rewrite_data_files with delete-file-threshold=1)"
                )
            continue
        found.append(_delete_file(entry, file))
    return found


def _delete_file(entry: Entry, file: Mapping[str, Any]) -> DeleteFile:
    kind = str(file["file_format"]).upper()
    if kind == "PUFFIN":
        return DeleteFile(
            file["file_path"],
            entry.sequence_number,
            file["referenced_data_file"],
            (file["content_offset"], file["content_size_in_bytes"]),
        )
    if kind == "PARQUET" and file.get("key_metadata") is None:
        return DeleteFile(file["file_path"], entry.sequence_number)
    raise UnsupportedOperation(
        f"deleted rows of the Iceberg table are kept in encrypted files or of format {kind.lower()}: "
        "compact it (rewrite_data_files with delete-file-threshold=1)"
    )


def parse_deletes(file: DeleteFile, data: bytes) -> Deleted:
    """What a delete file says, of its bytes (of a vector: of its part).

    Raises:
        TableUnreadable: It is broken.
    """
    if file.vector_of is not None:
        return Deleted(file, payload=payload_in(data))
    try:
        table = pq.read_table(pa.BufferReader(data), columns=["file_path", "pos"])
        grouped = table.group_by("file_path").aggregate([("pos", "list")])
    except (pa.ArrowException, KeyError) as error:
        raise TableUnreadable(
            "a delete file of the Iceberg table is broken", detail=str(error)
        ) from error
    return Deleted(file, rows=grouped)


class DeletedRows:
    """The deleted rows of all data files.

    Args:
        deletes: All that count in a snapshot.
    """

    def __init__(self, deletes: Iterable[Deleted]) -> None:
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
        """The files of a manifest with the vectors of their deleted rows.

        Raises:
            UnsupportedOperation: A vector is too large.
        """
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
            if file.sequence_number >= sequence_number:
                return descriptor(payload, cardinality_of(payload), file.place)
        rows = BitMap64()
        for number, positions in self._positions.get(location, ()):
            if number >= sequence_number:
                rows |= BitMap64(_integers(positions))
        return descriptor(payload_of(rows), len(rows)) if rows else None


def _integers(positions: pa.ListScalar) -> Sequence[int]:
    values: Sequence[int] = positions.values.to_pylist()
    return values
