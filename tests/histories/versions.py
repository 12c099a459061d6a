"""Compares versions of a table, and what changed between them, with the rows that each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pyarrow as pa
import pytest
from histories.counting import Rows, assert_same, counted, feed_rows
from histories.fetching import Fetching, KernelFetching
from histories.responses import DELTA, PARQUET, Addressed, GatewayTable, Refused, TableResponse


@dataclass(frozen=True)
class Version:
    """A version as its writer reads it.

    Attributes:
        timestamp: Epoch milliseconds; two versions may have the same.
    """

    number: int
    timestamp: int
    rows: pa.Table

    @property
    def moment(self) -> str:
        """The timestamp in ISO 8601."""
        return datetime.fromtimestamp(self.timestamp / 1000, UTC).isoformat(timespec="milliseconds")


class Versions:
    """All versions of a table whose columns were only ever added, ascending.

    Numbers may have gaps, as those of Iceberg tables have.
    """

    def __init__(
        self,
        client: httpx.Client,
        store: httpx.Client,
        table: Addressed,
        versions: Sequence[Version],
    ) -> None:
        self._delta = GatewayTable(client, table, DELTA)
        self._parquet = GatewayTable(client, table, PARQUET)
        self._kernel = KernelFetching(store)
        self._files = Fetching(store)
        self._versions = versions

    def __len__(self) -> int:
        """How many versions there are."""
        return len(self._versions)

    def check_travel(self) -> None:
        """Each version has its rows, also by the time at which it was the newest."""
        for version in self._versions:
            response = self._delta.snapshot(version=version.number)
            found = counted(self._kernel.rows(response, response.files))
            assert_same(counted(_with_columns(version.rows, response)), found)
            newest = [each for each in self._versions if each.timestamp <= version.timestamp][-1]
            assert self._delta.snapshot(timestamp=version.moment).version == newest.number

    def check_changes(self, first: int, last: int) -> None:
        """The changes of a range lead from the rows before it to those of each of its versions.

        They are requested from the number behind the version before it, as numbers may have gaps.
        So does the stream of its files. The feed is the same if it is requested by times; in parquet
        format it has the same rows, and is refused where files have deletion vectors.
        """
        first_version, end = self._versions[first], self._versions[last]
        start = self._versions[first - 1].number + 1 if first else first_version.number
        feed = self._delta.changes(start, end.number)
        stream = self._delta.stream(start, end.number).in_force(end.number)
        for response in (feed, stream):
            self._leads_through(response, feed_rows(response, self._kernel), first, last)
        if start == first_version.number:
            self._check_times(first_version, end)
        if any("deletionVector" in file.content for file in feed.files):
            for read in (self._parquet.changes, self._parquet.stream):
                with pytest.raises(Refused, match="deletionVectors"):
                    read(start, end.number)
        else:
            plain = self._parquet.changes(start, end.number)
            self._leads_through(plain, feed_rows(plain, self._files), first, last)

    def _leads_through(self, response: TableResponse, changed: Rows, first: int, last: int) -> None:
        before = self._versions[first - 1].rows if first else self._versions[0].rows.slice(0, 0)
        rows = counted(_with_columns(before, response))
        versions = self._versions[first : last + 1]
        assert {number for *_, number, _ in changed} <= {version.number for version in versions}
        for version in versions:
            for (*row, change, number, timestamp), count in changed.items():
                if number == version.number:
                    assert timestamp == version.timestamp
                    rows[tuple(row)] += count if change == "insert" else -count
            assert_same(counted(_with_columns(version.rows, response)), +rows)
            assert min(rows.values(), default=0) >= 0  # nothing is deleted that was not there

    def _check_times(self, start: Version, end: Version) -> None:
        since = next(each for each in self._versions if each.timestamp >= start.timestamp)
        until = [each for each in self._versions if each.timestamp <= end.timestamp][-1]
        response = self._delta.changes_between(start.moment, end.moment)
        by_version = self._delta.changes(since.number, until.number)
        assert _told(response) == _told(by_version)


def _with_columns(rows: pa.Table, response: TableResponse) -> pa.Table:
    """The rows with the columns that a response declares: those that came later are null."""
    names = [name for name, _ in response.columns]
    assert set(rows.column_names) <= set(names)
    return pa.table(
        [rows[name] if name in rows.column_names else pa.nulls(rows.num_rows) for name in names], names
    )


def _told(response: TableResponse) -> list[tuple[int | None, str, str]]:
    return [(file.version, file.kind, file.id) for file in response.files]
