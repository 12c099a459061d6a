"""The URLs of one answer: of data files, and of deletion vectors that are files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sluicegate.api import Presigned
from sluicegate.doors.resolve import OpenTable
from sluicegate.sharing.deletion_vectors import location as vector_location
from sluicegate.sharing.signing import Signer
from sluicegate.tables.derived_files import DERIVED, DerivedFile


class Urls:
    """Presigns what an answer names.

    Attributes:
        expires_at: When the first URL so far expires, epoch milliseconds; `None` before any.
    """

    def __init__(self, signer: Signer, table: OpenTable) -> None:
        self._signer = signer
        self._table = table
        self._record = signer.record(table)
        self.expires_at: int | None = None

    async def of(self, paths: Sequence[str]) -> Presigned:
        """URLs of paths, in their order.

        Raises:
            UnsupportedOperation: A path lies where no configured storage reaches.
            StorageError: Nothing can be signed now.
        """
        signed = await self._signer.presign(self._table, paths)
        self._note(signed)
        return signed

    async def of_each(self, paths: Sequence[str]) -> Presigned:
        """The same, where paths may be named twice: they then have one URL, text for text."""
        distinct = list(dict.fromkeys(paths))
        signed = await self.of(distinct)
        if len(distinct) == len(paths):
            return signed
        urls = dict(zip(distinct, signed.urls, strict=True))
        return Presigned([urls[path] for path in paths], signed.expires_at)

    def of_derived(self, files: Sequence[DerivedFile]) -> Presigned:
        """URLs of files that the table's format makes, in their order."""
        signed = self._signer.presign_derived(self._table, files)
        self._note(signed)
        return signed

    async def of_vectors(self, column: pa.ChunkedArray) -> dict[int, tuple[str, str]]:
        """By row: what tells the file of a deletion vector from all others, and its URL.

        Raises:
            TableUnreadable: A deletion vector's descriptor is malformed.
        """
        if column.null_count == len(column):
            return {}
        stored, derived = _placed(self._table.source.location, column)
        signed: list[tuple[int, str, str]] = []
        if stored:
            urls = (await self.of_each(list(stored.values()))).urls
            signed += zip(stored, stored.values(), urls, strict=True)
        if derived:
            urls = self.of_derived(list(derived.values())).urls
            signed += zip(derived, (file.digest for file in derived.values()), urls, strict=True)
        return {row: (name, url) for row, name, url in signed}

    def _note(self, signed: Presigned) -> None:
        if signed.urls:
            self._record.add(len(signed.urls), signed.expires_at)
        self.expires_at = min(self.expires_at or signed.expires_at, signed.expires_at)


def _placed(root: str, column: pa.ChunkedArray) -> tuple[dict[int, str], dict[int, DerivedFile]]:
    """The vectors of a column that are files, by row: those in a store, and those that are made."""
    stored: dict[int, str] = {}
    derived: dict[int, DerivedFile] = {}
    for row, vector in enumerate(column.to_pylist()):
        if vector is None:
            continue
        if vector["storageType"] == DERIVED:
            derived[row] = DerivedFile.parse(vector["pathOrInlineDv"])
        elif (location := vector_location(root, vector)) is not None:
            stored[row] = location
    return stored, derived
