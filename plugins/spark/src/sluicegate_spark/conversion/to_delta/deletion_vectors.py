"""Stores deletion vectors that are too large for a line of the log in separate files.

File names are derived from the content, so writing a file again changes nothing. The files are in a
hidden folder, which neither Delta's VACUUM nor Iceberg's orphan removal visits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import obstore
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import ObjectDirectory
from sluicegate.formats import DELETION_VECTOR, DERIVED, DerivedFile
from sluicegate_iceberg.format.deletes.vectors import z85

_FOLDER = "_vectors"
_BY_ID = "u"  # storage type: files below the table's directory, named by a UUID


def log_descriptors(vectors: pa.StructArray) -> pa.StructArray:
    """Return descriptors as in the log (Delta protocol, "Deletion Vector Descriptor Schema")."""
    derived = _derived(vectors)
    if not pc.any(derived).as_py():
        return vectors
    rows = zip(vectors.to_pylist(), derived.to_pylist(), strict=True)
    return pa.array([_stored(row) if large else row for row, large in rows], DELETION_VECTOR)


async def write_deletion_vectors(
    vectors: pa.ChunkedArray, make: Callable[[str], Awaitable[bytes]], directory: ObjectDirectory
) -> None:
    """Write the files that `log_descriptors` names."""
    for chunk in vectors.chunks:
        for text in pc.struct_field(chunk, "pathOrInlineDv").filter(_derived(chunk)).to_pylist():
            file = DerivedFile.parse(text)
            content = await make(file.recipe)
            file.check(content)
            key = directory.key(f"{_FOLDER}/deletion_vector_{_id(file)}.bin")
            await obstore.put_async(directory.store, key, content)


def _derived(vectors: pa.StructArray) -> pa.BooleanArray:
    return pc.equal(pc.struct_field(vectors, "storageType"), DERIVED).fill_null(False)


def _stored(vector: dict[str, Any]) -> dict[str, Any]:
    file = DerivedFile.parse(vector["pathOrInlineDv"])
    return {**vector, "storageType": _BY_ID, "pathOrInlineDv": _FOLDER + z85(_id(file).bytes)}


def _id(file: DerivedFile) -> UUID:
    return UUID(hex=file.digest[:32])
