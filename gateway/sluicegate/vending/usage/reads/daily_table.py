"""Reads the Delta table `daily`, which `COLLECT_USAGE` writes, without Spark."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread
import orjson
import pyarrow as pa

from sluicegate.api.budget import Budget, TableLimits, TableTooLarge, Turns
from sluicegate.api.errors import (
    ConfigurationError,
    NotFound,
    ObjectMissing,
    TableUnreadable,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.database.names import name_key
from sluicegate.tables.column_mapping import is_mapped
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.partitions import PartitionValues, in_partitions
from sluicegate.tables.predicates.hints import from_hints
from sluicegate.tables.predicates.pruning import prune
from sluicegate.tables.reading.store_errors import store_errors
from sluicegate.tables.snapshot import CHUNK_ROWS, Snapshot
from sluicegate.telemetry import span
from sluicegate.vending.usage.models import UsageQuery, day_text
from sluicegate.vending.usage.reads.models import Key, Reads
from sluicegate.vending.usage.reads.sums import Sums, file_sums

NAME = "daily"
_TYPES: Mapping[str, str] = {
    "day": "date",
    "recipient": "string",
    "share": "string",
    "schema": "string",
    "table": "string",
    "requests": "long",
    "failed_requests": "long",
    "late_requests": "long",
    "read_files": "long",
    "read_bytes": "long",
}
_PARTITIONED_BY = ("recipient",)
_CONCURRENT = 8
_LARGEST_FILE = 64_000_000  # bytes; usually, they have a few thousand


@dataclass(frozen=True, slots=True)
class _DataFile:
    path: str
    recipient: str | None


class DailyTable:
    """The table.

    Args:
        limits: Limits of reading the table's log, and again of reading its data files.
    """

    def __init__(
        self,
        location: str,
        open_directory: Callable[[str], Awaitable[ObjectDirectory]],
        limits: TableLimits,
    ) -> None:
        self._location = f"{location}/{NAME}"
        self._open = open_directory
        self._limits = limits
        self._format = DeltaFormat()
        self._turns = Turns()

    async def sums(self, query: UsageQuery) -> tuple[Mapping[Key, Reads], int]:
        """What was read by the columns that a query groups by, and when the table was last written."""
        directory = replace(await self._opened(), span=span)
        with self._explained(), closing(Budget(self._limits, self._turns)) as budget:
            snapshot = await self._snapshot(replace(directory, budget=budget))
        with self._explained(), closing(Budget(self._limits, self._turns)) as budget:
            files = await anyio.to_thread.run_sync(_wanted_files, snapshot, query)
            sums = Sums()
            reader = _DataFiles(replace(directory, budget=budget), query, sums)
            await gather([partial(reader.add, each) for each in files], _CONCURRENT)
        return sums.by_key, snapshot.timestamp

    async def _opened(self) -> ObjectDirectory:
        try:
            return await self._open(self._location)
        except ConfigurationError as error:
            # Other errors of this kind are only logged, but administrators can correct this one.
            message = f"usage.location cannot be opened: {error.message}"
            raise UnsupportedOperation(message, detail=error.detail) from error

    async def _snapshot(self, directory: ObjectDirectory) -> Snapshot:
        table = CatalogTable(self._location, "delta", self._location)
        try:
            snapshot = await self._format.latest(table, directory, None)
        except NotFound:
            raise NotFound(
                f"there is no Delta table '{NAME}' in the directory usage.location: run COLLECT_USAGE, "
                "or correct usage.location in the gateway's configuration",
                detail=self._location,
            ) from None
        _check_schema(snapshot)
        return snapshot

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Name the table in errors, which otherwise are those of tables in general."""
        try:
            yield
        except TableTooLarge as error:
            raise TableTooLarge(
                f"the table of usage is too large for this report: {error.message}, or you can select "
                "fewer days",
                detail=self._location,
            ) from error
        except TableUnreadable as error:
            message = f"the table of usage cannot be read: {error.message}"
            raise TableUnreadable(message, detail=error.detail or self._location) from error


class _DataFiles:
    """Adds the reads in data files to sums."""

    def __init__(self, directory: ObjectDirectory, query: UsageQuery, sums: Sums) -> None:
        self._directory = directory
        self._budget = directory.budget
        self._query = query
        self._sums = sums

    async def add(self, file: _DataFile) -> None:
        """Add the reads in one file."""
        what = "a data file"
        data = await self._fetched(file.path, what)
        try:
            found = await self._budget.run(
                file_sums, data, file.recipient, self._query, what, self._budget
            )
        except (ValueError, IndexError, pa.ArrowException) as error:
            raise TableUnreadable(
                "a data file is damaged, or its columns are not those that COLLECT_USAGE writes",
                detail=f"{file.path}: {error}",
            ) from error
        finally:
            self._budget.take(what, bytes=-len(data))
        self._sums.add(found)

    async def _fetched(self, path: str, what: str) -> bytes:
        try:
            with span("store.get"), store_errors(path, "data"):
                found = await self._directory.store.get_async(self._directory.key(path))
                size = found.meta["size"]
                if size > _LARGEST_FILE:
                    raise TableUnreadable(
                        f"a data file has {size} bytes, but those of this table have a few thousand",
                        detail=path,
                    )
                await self._budget.admit(size)
                self._budget.take(what, bytes=size)
                return bytes(await found.bytes_async())
        except ObjectMissing as error:
            message = "the table of usage changed while it was read; try again"
            raise Unavailable(message, detail=error.detail) from None


def _check_schema(snapshot: Snapshot) -> None:
    """Refuse a table that `COLLECT_USAGE` did not write, or that was changed since."""
    metadata = snapshot.metadata
    found = {each["name"]: each["type"] for each in orjson.loads(metadata.schema_string)["fields"]}
    for name, kind in _TYPES.items():
        if found.get(name) != kind:
            raise TableUnreadable(
                f"column '{name}' is missing or has another type than {kind}: COLLECT_USAGE did not "
                "write this table"
            )
    if metadata.partition_columns != _PARTITIONED_BY:
        raise TableUnreadable("it is not partitioned by recipient, as COLLECT_USAGE creates it")
    if is_mapped(metadata):
        raise TableUnreadable("its columns are mapped, which COLLECT_USAGE does not do")


def _wanted_files(snapshot: Snapshot, query: UsageQuery) -> Sequence[_DataFile]:
    """The data files that can have rows of a query."""
    files = snapshot.files
    if query.recipient is not None:
        wanted = name_key(query.recipient)
        files = in_partitions(files, lambda values: name_key(_recipient(values) or "") == wanted)
    since, until = day_text(query.since), day_text(query.until)
    predicate = from_hints(None, [f"day >= DATE '{since}' AND day <= DATE '{until}'"])
    if predicate is not None:
        files = prune(files, snapshot.metadata, predicate)
    if files.deletion_vectors:
        raise TableUnreadable(
            "it has deletion vectors, which the gateway does not apply to its own tables: set its "
            "property delta.enableDeletionVectors to false, and run REORG TABLE … APPLY (PURGE)"
        )
    found: list[_DataFile] = []
    for batch in files.batches(CHUNK_ROWS):
        paths, partitions = batch.column("path"), batch.column("partition_values")
        for path, partition in zip(paths.to_pylist(), partitions.to_pylist(), strict=True):
            _check_inside(path)
            found.append(_DataFile(path, _recipient(orjson.loads(partition))))
    return found


def _recipient(values: PartitionValues) -> str | None:
    return values.get("recipient")


def _check_inside(path: str) -> None:
    if "://" in path or ".." in path.split("/"):
        raise TableUnreadable("its log names a data file outside of its directory", detail=path)
