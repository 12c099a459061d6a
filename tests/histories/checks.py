"""Compares what a recipient gets of a table with what its writer's own reader says."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from histories.counting import Rows, assert_same, counted, feed_rows
from histories.fetching import Fetching
from histories.history import Operation, Vacuum
from histories.oracle import CHANGE, TIMESTAMP, VERSION, FeedOff, Gone, NoResponse, Oracle
from histories.responses import FileLine, GatewayTable, Refused, TableResponse
from histories.unkind import UnkindCopy
from support.clients.iceberg_reading import IcebergReading
from support.process.random_cases import times


class Comparison:
    """One table, read in both ways.

    The rows of each version are kept from when it was the latest, as a vacuum may take its files.
    """

    def __init__(
        self,
        oracle: Oracle,
        gateway: GatewayTable,
        fetching: Fetching,
        copy: UnkindCopy | None = None,
    ) -> None:
        self._oracle = oracle
        self._copy = copy
        self._gateway = gateway
        self._fetching = fetching
        self._rows: list[Rows] = []

    def after(self, operation: Operation) -> None:
        """The latest version is the same behind an operation."""
        self._oracle.apply(operation)
        if self._copy is not None:
            self._copy.follow()
        if isinstance(operation, Vacuum):
            self._fetching.forget()
        version = self._oracle.version()
        for each in range(len(self._rows), version + 1):
            self._rows.append(counted(self._oracle.rows(each)))
        assert self._gateway.version() == version
        self._snapshot(self._gateway.snapshot(), version)

    def at_version(self, version: int, *, read_again: bool) -> None:
        """A version is what it was when it was the latest, or its files are not there any more."""
        if read_again and not self._is_gone(version):
            assert_same(self._rows[version], counted(self._oracle.rows(version)))
        self._snapshot(self._gateway.snapshot(version=version), version)

    def at_time(self, timestamp: int) -> None:
        """A time (epoch milliseconds) names the same version."""
        moment = datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")
        expected = self._oracle.version_at(timestamp)
        assert self._gateway.snapshot(timestamp=moment).version == expected

    def listed(self, reading: IcebergReading) -> None:
        """Iceberg clients find every version, and read what it was when it was the latest.

        For each change, they read the latest version and every fourth one before it.
        """
        assert reading.versions == list(range(len(self._rows)))
        for version in reading.versions:
            assert reading.version_at(self._oracle.timestamp(version)) == version
        for version in reading.versions[:: -1 if times() > 1 else -4]:
            try:
                found = reading.rows(version)
            except FileNotFoundError:
                assert self._is_gone(version)
                continue
            assert set(found.column_names) == {name for name, _ in self._oracle.columns(version)}
            names = [name for name, _ in self._oracle.columns(version)]
            assert_same(self._rows[version], counted(found.select(names)))

    def changes(self, first: int, last: int) -> None:
        """The change data feed of a range is the same, or refused on both sides."""
        try:
            expected = self._oracle.changes(first, last)
        except NoResponse:
            return
        except FeedOff:
            with pytest.raises(Refused, match="feed"):
                self._gateway.changes(first, last)
            return
        except Gone:
            with pytest.raises(Gone):
                feed_rows(self._gateway.changes(first, last), self._fetching)
            return
        response = self._gateway.changes(first, last)
        names = [name for name, _ in response.columns]
        for name in set(names) - set(expected.column_names):
            # The gateway says the latest columns, as clients read a feed by one schema; so does the
            # writer's reader, or those of the last version.
            assert name not in dict(self._oracle.columns(last))
            expected = expected.append_column(name, pa.nulls(expected.num_rows))
        columns = [*names, CHANGE, VERSION, TIMESTAMP]
        assert sorted(columns) == sorted(expected.column_names)
        assert_same(counted(expected.select(columns)), feed_rows(response, self._fetching))

    def stream(self, first: int, last: int) -> None:
        """The files that each version of a range removed and added are what sets it apart."""
        response = self._gateway.stream(first, last)
        assert all(first <= (file.version or 0) <= last for file in response.files)
        for version in range(first, last + 1):
            self._step(response.in_force(version), version)

    def _snapshot(self, response: TableResponse, version: int) -> None:
        assert response.version == version
        assert response.columns == self._oracle.columns(version)
        assert self._paths(response.files) == self._oracle.files(version)
        try:
            found = self._fetching.rows(response, response.files)
        except Gone:
            assert self._is_gone(version)
            return
        assert_same(self._rows[version], counted(found))

    def _step(self, response: TableResponse, version: int) -> None:
        files = [file for file in response.files if file.version == version]
        if not files:
            assert self._unchanged(version)
            return
        added, removed = ([file for file in files if file.kind == kind] for kind in ("add", "remove"))
        assert len(added) + len(removed) == len(files)
        live, gone = self._files(version - 1), self._paths(removed)
        assert gone <= live
        assert (live - gone) | self._paths(added) == self._files(version)
        try:
            added_rows = counted(self._fetching.rows(response, added))
            removed_rows = counted(self._fetching.rows(response, removed))
        except Gone:
            assert self._is_gone(version) or self._is_gone(version - 1)
            return
        assert_same(self._rows[version] + removed_rows, self._before(version) + added_rows)

    def _unchanged(self, version: int) -> bool:
        """A version has the rows of the one before it, or other columns."""
        columns = self._oracle.columns
        if version and columns(version - 1) != columns(version):
            return True
        return self._before(version) == self._rows[version]

    def _before(self, version: int) -> Rows:
        return self._rows[version - 1] if version else Rows()

    def _files(self, version: int) -> set[str]:
        return self._oracle.files(version) if version >= 0 else set()

    def _is_gone(self, version: int) -> bool:
        try:
            self._oracle.rows(version)
        except Gone:
            return True
        return False

    def _paths(self, files: Iterable[FileLine]) -> set[str]:
        paths = [self._gateway.path(file) for file in files]
        assert len(set(paths)) == len(paths)
        return set(paths)
