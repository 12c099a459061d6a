"""Compares the tables in the worker: a small conversion would take longer to start Spark's jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread
import pyarrow as pa

from sluicegate.api import Budget, CatalogTable, TableLimits, TableTooLarge
from sluicegate.formats import LogPart, read_log_part
from sluicegate_iceberg.format.manifests.manifest_files import DATA, Manifest, entries_of
from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of, raise_failure
from sluicegate_spark.conversion.to_iceberg.jobs.difference import (
    CheckedFiles,
    Difference,
    Source,
    TooLargeForWorker,
    candidates,
    check_data_files,
    check_live_files,
    manifest_rows,
    partitions_of,
    raise_unreadable,
)
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import read_object
from sluicegate_spark.conversion.to_iceberg.jobs.log_actions import locations_of
from sluicegate_spark.conversion.to_iceberg.jobs.manifest_writing import Adding, Rewriting
from sluicegate_spark.conversion.to_iceberg.jobs.new_files import ADDED, Checks
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import Row, SnapshotWriter
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import TableAccess

_LONGEST: Final = 32_000_000  # bytes of all parts of a log, or of all manifests, as they are stored
_MOST_BYTES: Final = 256_000_000  # decoded
_ACTIONS_OF_FILE: Final = 4
_LONGEST_FOOTER: Final = 8_000_000
_MANIFESTS_AT_ONCE: Final = 8
_FILES: Final = pa.schema([(name, pa.int64() if name == "size" else pa.string()) for name in ADDED])

_Action = dict[str, Any]
_T = TypeVar("_T")


def is_small(source: Source, manifests: Sequence[Row], most: int) -> bool:
    """Return whether tables are probably small enough for the worker."""
    live = sum(int(row["added_files_count"]) + int(row["existing_files_count"]) for row in manifests)
    sizes = (
        sum(part.size for part in source.parts),
        sum(int(row["manifest_length"]) for row in manifests),
    )
    return 0 < most >= live and max(sizes) <= _LONGEST


class SmallComparison:
    """Does what `Comparison` does, with the same functions, without Spark."""

    def __init__(
        self, access: TableAccess, entries: EntryFormat, manifests: Sequence[Row], most: int
    ) -> None:
        self._access = access
        self._entries = entries
        self._manifests = manifests
        self._most = most
        self._budget = Budget(TableLimits(bytes=_MOST_BYTES, rows=_ACTIONS_OF_FILE * most))
        self._added: list[_Action] = []
        self._removed: dict[int, list[str]] = {}

    async def difference(self, source: Source) -> Difference:
        """See `TableComparison.difference`."""
        return await self._in_thread(partial(self._compared, source))

    async def check_added(self, count: int) -> CheckedFiles:
        """See `TableComparison.check_added`."""
        return await self._in_thread(self._checked)

    async def write(
        self, writer: SnapshotWriter, added: int, rewritten: Mapping[int, Row]
    ) -> list[Row]:
        """See `TableComparison.write`."""
        return await anyio.to_thread.run_sync(partial(self._written, writer, rewritten))

    async def _in_thread(self, step: Callable[[ObjectAccess], _T]) -> _T:
        objects = await self._access.objects()
        try:
            return await anyio.to_thread.run_sync(step, objects)
        except TableTooLarge as error:
            raise TooLargeForWorker(error.message) from error

    def _compared(self, source: Source, objects: ObjectAccess) -> Difference:
        newest = self._newest(source, objects)
        live = {row["location"]: row for row in newest if not row["removed"]}
        if len(live) > self._most:
            raise TooLargeForWorker(f"the table has {len(live)} files")
        inside = f"{self._entries.location}/"
        check_live_files(
            vectors=any(row["has_vector"] for row in newest if not row["removed"]),
            outside=not all(location.startswith(inside) for location in live),
        )
        known = self._known(newest, source, objects)
        if not source.complete:
            # The converted table contains no files with deletion vectors.
            touched = {row["location"] for row in newest if not row["has_vector"]}
            known = [(number, location) for number, location in known if location in touched]
        contained = {location for _, location in known}
        self._added = [row for location, row in live.items() if location not in contained]
        removed: dict[int, list[str]] = defaultdict(list)
        for number, location in known:
            if location not in live:
                removed[number].append(location)
        self._removed = dict(removed)
        counts = {number: len(locations) for number, locations in removed.items()}
        return Difference(len(self._added), counts)

    def _newest(self, source: Source, objects: ObjectAccess) -> list[_Action]:
        """Return the newest action for each file."""
        newest: dict[str, tuple[tuple[int, int], _Action]] = {}
        for part in source.parts:
            try:
                for row in self._actions(part, objects):
                    place = part.version, row["line"]
                    before = newest.get(row["key"])
                    if before is None or place > before[0]:
                        newest[row["key"]] = place, row
            except TableTooLarge:
                raise
            except EXPECTED as error:
                raise_unreadable(source, part.name, failure_of(error))
        return [row for _, row in newest.values()]

    def _actions(self, part: LogPart, objects: ObjectAccess) -> list[_Action]:
        location = self._entries.location
        table = CatalogTable(location, "delta", location)
        directory = replace(objects.directory(location), budget=self._budget)
        rows: list[_Action] = []
        for batch in read_log_part(table, directory, part):
            locations = locations_of(batch.column("path"), location)
            rows += batch.append_column("location", locations).to_pylist()
        return rows

    def _known(
        self, newest: Sequence[_Action], source: Source, objects: ObjectAccess
    ) -> list[tuple[int, str]]:
        """Return the live files of the manifests that can contain changed files."""
        partitions = None
        if not source.complete and self._entries.partition:
            texts = {row["partition_values"] for row in newest}
            partitions = partitions_of(self._entries, texts)
        found = candidates(self._entries, self._manifests, partitions)
        with ThreadPoolExecutor(_MANIFESTS_AT_ONCE) as pool:
            listed = pool.map(partial(self._listed, objects), found.values())
            return [
                (number, location)
                for number, locations in zip(found, listed, strict=True)
                for location in locations
            ]

    def _listed(self, objects: ObjectAccess, row: Row) -> list[str]:
        path = row["manifest_path"]
        manifest = Manifest(path, DATA, row["sequence_number"], row["added_snapshot_id"])
        data = read_object(objects, path)
        return [each.file["file_path"] for each in entries_of(manifest, data, self._budget)]

    def _checked(self, objects: ObjectAccess) -> CheckedFiles:
        field_ids = self._entries.columns.field_ids
        checks = Checks(self._entries, field_ids, objects, _LONGEST_FOOTER)
        files = [{name: row[name] for name in ADDED} for row in self._added]
        batch = pa.RecordBatch.from_pylist(files, _FILES)
        self._added = [row for each in checks([batch]) for row in each.to_pylist()]
        broken = [f"{row['location']}: {row['broken']}" for row in self._added if row["broken"]]
        check_data_files(len(broken), min(broken, default=None))
        raise_failure(max(filter(None, (row["failure"] for row in self._added)), default=None))
        dropped = {path for row in self._added for path in row["dropped"] or ()}
        return CheckedFiles(sum(row["size"] for row in self._added), frozenset(dropped))

    def _written(self, writer: SnapshotWriter, rewritten: Mapping[int, Row]) -> list[Row]:
        rewriting = Rewriting(dict(rewritten), writer)
        rows: list[Row] = []
        for number in rewritten:
            removed = self._removed.get(number, [None])
            table = pa.table({"manifest": [number] * len(removed), "location": removed})
            rows += manifest_rows(rewriting(table).to_pylist())
        if self._added:
            added = sorted(self._added, key=lambda row: (row["partition_values"], row["location"]))
            batch = pa.RecordBatch.from_pylist(added)
            rows += manifest_rows(
                row for each in Adding(self._entries, writer)([batch]) for row in each.to_pylist()
            )
        return rows
