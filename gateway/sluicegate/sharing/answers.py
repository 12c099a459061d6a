"""Answers about tables: version, metadata and files, as headers and a stream of lines.

The one way: resolve → snapshot → negotiate → prune → sign → encode. Each step hands its value on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import anyio
import pyarrow as pa

from sluicegate.api import Presigned, Principal, SharedTable
from sluicegate.sharing import capabilities, delta_lines, parquet_lines
from sluicegate.sharing.deletion_vectors import location as vector_location
from sluicegate.sharing.limits import check_history, check_version, visible
from sluicegate.sharing.lines import At, TableTotals
from sluicegate.sharing.negotiation import Agreement, negotiate
from sluicegate.sharing.prune import limited
from sluicegate.sharing.question import FILE_ID_HASH, Form, QueryRequest, Travel
from sluicegate.sharing.resolve import OpenTable, Resolver
from sluicegate.sharing.signing import Signer
from sluicegate.tables.features import FeatureNeeds, feature_needs
from sluicegate.tables.reader import TableReader
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.telemetry import span

VERSION_HEADER = "Delta-Table-Version"


@dataclass(frozen=True, slots=True)
class Answer:
    """Headers, and the lines behind them."""

    headers: dict[str, str]
    lines: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot as one recipient sees it, and the form agreed for the answer."""

    table: OpenTable
    snapshot: Snapshot
    files: FileSet
    needs: FeatureNeeds
    agreement: Agreement
    at: At | None
    hash_name: str

    def head(self) -> bytes:
        """The protocol and the metadata line."""
        metadata = self.snapshot.metadata
        totals = TableTotals(self.files.size, len(self.files))
        version = None if self.at is None else self.at.version
        if self.agreement.response_format == "parquet":
            return parquet_lines.protocol() + parquet_lines.metadata(
                metadata, totals=totals, version=version
            )
        return delta_lines.protocol(
            self.snapshot.protocol, self.needs, self.agreement.reader_features
        ) + delta_lines.metadata(metadata, totals=totals, version=version)


class TableAnswers:
    """Answers requests about one table at a time."""

    def __init__(self, resolver: Resolver, reader: TableReader, signer: Signer) -> None:
        self._resolver = resolver
        self._reader = reader
        self._signer = signer

    async def version(self, shared: SharedTable, starting: int | None) -> int:
        """The latest version, or the earliest at or after a time ("Query Table Version").

        Args:
            shared: The table.
            starting: Epoch milliseconds.
        """
        if starting is not None:
            check_history(shared, "startingTimestamp")
        table = await self._resolver.open(shared)
        if starting is None:
            snapshot = await self._reader.latest(table.source, table.directory)
            check_version(shared, snapshot.version)
            return snapshot.version
        version = await self._reader.version_at(
            table.source, table.directory, starting, earliest_after=True
        )
        return max(version, shared.start_version)

    async def metadata(
        self, principal: Principal, shared: SharedTable, travel: Travel, form: Form
    ) -> Answer:
        """Protocol and metadata, exactly two lines ("Query Table Metadata")."""
        view = await self._view(principal, shared, travel, form)
        return Answer(_headers(view, form), _once(view.head()))

    async def query(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: Form
    ) -> Answer:
        """Protocol, metadata and the files of one version ("Read Data from a Table").

        The first batch is signed before anything is answered, so that a store that cannot sign is an
        error of its own and not a broken stream.
        """
        view = await self._view(principal, shared, request.travel, form)
        batches = limited(view.files, request.limit)
        first = next(batches, None)
        start = view.head() + (b"" if first is None else await self._lines(view, first))
        return Answer(_headers(view, form), self._stream(view, start, batches))

    async def _view(
        self, principal: Principal, shared: SharedTable, travel: Travel, form: Form
    ) -> View:
        if travel:
            check_history(shared, "time travel (version, timestamp)")
        if travel.version is not None:
            check_version(shared, travel.version)
        table = await self._resolver.open(shared)
        with span("snapshot"):
            snapshot = await self._snapshot(table, travel)
        check_version(shared, snapshot.version)
        needs = feature_needs(snapshot)
        agreement = negotiate(form.capabilities, needs, url_access="url" in shared.access_modes)
        return View(
            table,
            snapshot,
            visible(shared, principal, snapshot.metadata, snapshot.files),
            needs,
            agreement,
            At(snapshot.version, snapshot.timestamp) if travel else None,
            form.hash_name(agreement.response_format),
        )

    async def _snapshot(self, table: OpenTable, travel: Travel) -> Snapshot:
        version = travel.version
        if travel.timestamp is not None:
            version = await self._reader.version_at(
                table.source, table.directory, travel.timestamp, earliest_after=False
            )
        if version is None:
            return await self._reader.latest(table.source, table.directory)
        return await self._reader.at_version(table.source, table.directory, version)

    async def _stream(
        self, view: View, start: bytes, batches: Iterator[pa.Table]
    ) -> AsyncIterator[bytes]:
        yield start
        for batch in batches:
            yield await self._lines(view, batch)
            await anyio.lowlevel.checkpoint()  # a long answer must not starve the short ones

    async def _lines(self, view: View, batch: pa.Table) -> bytes:
        presigned = await self._signer.presign(view.table, batch.column("path").to_pylist())
        if view.agreement.response_format == "parquet":
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors, presigned = await self._vectors(view, batch, presigned)
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)

    async def _vectors(
        self, view: View, batch: pa.Table, presigned: Presigned
    ) -> tuple[dict[int, tuple[str, str]], Presigned]:
        """Presign the files of deletion vectors; the answer expires with the first of all URLs."""
        column = batch.column("deletion_vector")
        if column.null_count == len(column):
            return {}, presigned
        root = view.table.source.location
        located = {
            row: place
            for row, vector in enumerate(column.to_pylist())
            if vector is not None and (place := vector_location(root, vector)) is not None
        }
        if not located:
            return {}, presigned
        signed = await self._signer.presign(view.table, list(located.values()))
        pairs = zip(located.items(), signed.urls, strict=True)
        return (
            {row: (place, url) for (row, place), url in pairs},
            Presigned(presigned.urls, min(presigned.expires_at, signed.expires_at)),
        )


async def _once(lines: bytes) -> AsyncIterator[bytes]:
    yield lines


def _headers(view: View, form: Form) -> dict[str, str]:
    headers = {
        VERSION_HEADER: str(view.snapshot.version),
        capabilities.HEADER: capabilities.encode(view.agreement.header()),
    }
    if form.file_id_hash is not None:
        headers[FILE_ID_HASH] = form.file_id_hash
    return headers
