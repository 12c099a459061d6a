"""The URLs of one response: of data files, and of deletion vector files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sluicegate.api import Presigned, SignedPaths
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.presigning.signer import IssuedUrls, Signer
from sluicegate.tables.delta.vector_files import location as vector_location
from sluicegate.tables.derived_files import DERIVED, DerivedFile


class Urls:
    """Presigns the files of a response.

    Attributes:
        expires_at: Expiry of the first URL so far, in epoch milliseconds. `None` before any URL.
    """

    def __init__(self, signer: Signer, table: OpenTable, *, shareable: bool = False) -> None:
        self._signer = signer
        self._table = table
        self._record = signer.record(table)
        self._label = None if shareable else self._record.label
        self.expires_at: int | None = None
        self.personal = False

    @property
    def issued(self) -> IssuedUrls:
        """The URLs so far."""
        entry = self._record.entry
        last = None if self.expires_at is None else entry.expires_at
        return IssuedUrls(entry.files or 0, self.expires_at, last, self.personal)

    async def of(self, paths: Sequence[str]) -> Presigned:
        """URLs of paths, in their order."""
        signed = await self._signer.presign(self._table, paths, self._label)
        self._note(len(signed.urls), signed.expires_at)
        return signed

    async def of_encoded(self, paths: Sequence[bytes]) -> SignedPaths | None:
        """URLs of percent-encoded paths in parts; see `Signer.sign_paths`."""
        signed = await self._signer.sign_paths(self._table, paths, self._label)
        if signed is not None:
            self._note(len(signed.signatures), signed.expires_at)
        return signed

    async def of_each(self, paths: Sequence[str]) -> Presigned:
        """The same if paths can occur twice. A repeated path gets the identical URL."""
        distinct = list(dict.fromkeys(paths))
        signed = await self.of(distinct)
        if len(distinct) == len(paths):
            return signed
        urls = dict(zip(distinct, signed.urls, strict=True))
        return Presigned([urls[path] for path in paths], signed.expires_at)

    def of_derived(self, files: Sequence[DerivedFile]) -> Presigned:
        """URLs of files that the table's format generates, in their order."""
        signed = self._signer.presign_derived(self._table, files)
        self.personal = True
        self._note(len(signed.urls), signed.expires_at)
        return signed

    async def of_vectors(self, column: pa.ChunkedArray) -> dict[int, tuple[str, str]]:
        """By row number: the unique location of a deletion vector's file, and its URL."""
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

    def _note(self, files: int, expires_at: int) -> None:
        if files:
            self._record.add(files, expires_at)
        self.expires_at = min(self.expires_at or expires_at, expires_at)


def _placed(root: str, column: pa.ChunkedArray) -> tuple[dict[int, str], dict[int, DerivedFile]]:
    """The deletion vector files of a column, by row number: stored ones, and generated ones."""
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
