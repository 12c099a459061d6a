"""A table that deltalake writes and reads: it carries out operations, and says what came of them."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from functools import singledispatchmethod
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from histories.generate import FEED
from histories.history import (
    AddColumn,
    Checkpoint,
    Delete,
    History,
    Insert,
    Merge,
    Operation,
    Optimize,
    Overwrite,
    Rows,
    SetFeed,
    Update,
    Vacuum,
    columns_after,
)
from histories.oracle import TIMESTAMP, VERSION, FeedOff, Gone, NoResponse, delta_columns
from histories.values import table

_DAY, _MINUTE = 86_400_000, 60_000


class DeltalakeTable:
    """See `Oracle`. Commits are dated a minute apart, so that times name versions without doubt.

    They are dated yesterday: those of more than a month ago are cleaned up behind a checkpoint.
    """

    def __init__(self, folder: Path, history: History) -> None:
        self._folder = folder
        self._history = history
        self._columns = history.columns
        self._versions: dict[int, DeltaTable] = {}
        self._dated = 0
        self._first_commit = int(time.time() * 1000) - _DAY

    def apply(self, operation: Operation) -> None:
        """See `Oracle.apply`."""
        self._apply(operation)
        self._columns = columns_after(self._columns, operation)
        self._date_commits()

    def version(self) -> int:
        """See `Oracle.version`."""
        return self._table().version()

    def version_at(self, timestamp: int) -> int:
        """See `Oracle.version_at`."""
        found = self._table()
        found.load_as_version(datetime.fromtimestamp(timestamp / 1000, UTC))
        return found.version()

    def timestamp(self, version: int) -> int:
        """See `Oracle.timestamp`."""
        return self._first_commit + version * _MINUTE

    def columns(self, version: int) -> list[tuple[str, str]]:
        """See `Oracle.columns`."""
        return delta_columns(json.loads(self._table(version).schema().to_json()))

    def files(self, version: int) -> set[str]:
        """See `Oracle.files`."""
        paths = pa.table(self._table(version).get_add_actions()).column("path")
        return {unquote(path) for path in paths.to_pylist()}

    def rows(self, version: int) -> pa.Table:
        """See `Oracle.rows`. Where files are missing, deltalake leaves out their rows now and then."""
        if not all((self._folder / path).exists() for path in self.files(version)):
            raise Gone
        return self._table(version).to_pyarrow_table()

    def changes(self, first: int, last: int) -> pa.Table:
        """See `Oracle.changes`; deltalake sees that the feed is off only where a commit says so."""
        if self._table(first).metadata().configuration.get(FEED) != "true":
            raise FeedOff
        feed = _feed(self._table(), first, last)
        versions = feed.column(VERSION).cast(pa.int64())
        times = pa.array([self.timestamp(version) for version in versions.to_pylist()], pa.int64())
        # deltalake says the time that the commit was begun, not that which time travel goes by.
        for name, values in ((VERSION, versions), (TIMESTAMP, times)):
            feed = feed.set_column(feed.schema.get_field_index(name), name, values)
        return feed

    def _table(self, version: int | None = None) -> DeltaTable:
        if version is None:
            return DeltaTable(self._folder)
        if version not in self._versions:
            self._versions[version] = DeltaTable(self._folder, version=version)
        return self._versions[version]

    def _rows(self, rows: Rows) -> pa.Table:
        return table(rows, self._columns)

    def _date_commits(self) -> None:
        """Delta dates commits by the modification times of their files."""
        while (commit := self._folder / "_delta_log" / f"{self._dated:020}.json").exists():
            nanoseconds = self.timestamp(self._dated) * 1_000_000
            os.utime(commit, ns=(nanoseconds, nanoseconds))
            self._dated += 1

    @singledispatchmethod
    def _apply(self, operation: Operation) -> None:
        raise NotImplementedError(f"deltalake has no {operation}")

    @_apply.register
    def _(self, insert: Insert) -> None:
        write_deltalake(
            self._folder,
            self._rows(insert.rows),
            mode="append",
            partition_by=list(self._history.partition_columns),
            configuration=None if self._dated else self._history.properties,
        )

    @_apply.register
    def _(self, update: Update) -> None:
        value = f"'{update.value}'" if isinstance(update.value, str) else str(update.value)
        self._table().update(predicate=update.where, updates={update.column: value})

    @_apply.register
    def _(self, delete: Delete) -> None:
        self._table().delete(delete.where)

    @_apply.register
    def _(self, merge: Merge) -> None:
        merger = self._table().merge(
            self._rows(merge.rows), "old.id = new.id", source_alias="new", target_alias="old"
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    @_apply.register
    def _(self, overwrite: Overwrite) -> None:
        predicate = None if overwrite.part is None else f"part = '{overwrite.part}'"
        rows = self._rows(overwrite.rows)
        write_deltalake(self._folder, rows, mode="overwrite", predicate=predicate)

    @_apply.register
    def _(self, add: AddColumn) -> None:
        self._table().alter.add_columns(Field(add.column.name, PrimitiveType(add.column.kind)))

    @_apply.register
    def _(self, feed: SetFeed) -> None:
        self._table().alter.set_table_properties({FEED: str(feed.on).lower()})

    @_apply.register
    def _(self, _: Optimize) -> None:
        self._table().optimize.compact()

    @_apply.register
    def _(self, _: Vacuum) -> None:
        self._table().vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    @_apply.register
    def _(self, _: Checkpoint) -> None:
        self._table().create_checkpoint()


def _feed(found: DeltaTable, first: int, last: int) -> pa.Table:
    try:
        return pa.table(found.load_cdf(first, last).read_all())
    except DeltaError as error:
        if "change data" in str(error).lower():
            raise FeedOff from None
        raise
    except Exception as error:  # what crosses Arrow's C interface has no type of its own
        # Change files of partitions with special characters are looked for under a wrong name.
        if "%25" in str(error):
            raise NoResponse from None
        if "not found" in str(error):
            raise Gone from None
        raise
