"""Deletion vectors that are too large for a line of the log, in files of their own.

Their names follow from their bytes, so writing one again changes nothing. They are in a hidden folder,
where neither Delta's VACUUM nor Iceberg's removal of orphans looks.
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
from sluicegate_iceberg.format.vectors import z85

_FOLDER = "_vectors"
_BY_ID = "u"  # the storage type of files below the table's directory that are named by a UUID


def stored(vectors: pa.StructArray) -> pa.StructArray:
    """Descriptors as the log has them (Delta protocol, "Deletion Vector Descriptor Schema")."""
    derived = _derived(vectors)
    if not pc.any(derived).as_py():
        return vectors
    rows = zip(vectors.to_pylist(), derived.to_pylist(), strict=True)
    return pa.array([_stored(row) if large else row for row, large in rows], DELETION_VECTOR)


async def write_vectors(
    vectors: pa.ChunkedArray, make: Callable[[str], Awaitable[bytes]], directory: ObjectDirectory
) -> None:
    """Write the files that `stored` names.

    Args:
        vectors: Descriptors as the table's format made them.
        make: The format's own maker of derived files, by recipe.
        directory: The Delta table's.

    Raises:
        TableUnreadable: What a vector is made from is gone or broken.
    """
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
