"""Tables that change during the run, and the rows that each of their states has."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Protocol

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.catalog import Catalog

PARTS = 2
_ROWS = 24  # of each commit
_OVERWRITTEN_EVERY = 4  # commits; so the number of files does not grow

Ids = frozenset[int]


class Written(Protocol):
    """Where a table is written."""

    def commit(self, rows: pa.Table, *, overwrite: bool) -> None:
        """Append rows, or replace all."""


@dataclass
class ChangingTable:
    """A table as the gateway shares it, and its rows.

    The values of a row follow from its id, so that a wrong row is found in any part of a table.

    Attributes:
        committed: When each state replaced the previous one, in seconds of the run.
    """

    path: tuple[str, str, str]
    needs: frozenset[str]
    written: Written = field(repr=False)
    versioned: bool = True
    states: list[Ids] = field(default_factory=list)
    committed: list[float] = field(default_factory=list)
    finished: list[datetime] = field(default_factory=list)
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def name(self) -> str:
        """Share, schema and table in one text."""
        return ".".join(self.path)

    def commit(self, now: float) -> None:
        """Write the next state.

        It is known before it can be read, because a client can read it at once.
        """
        number = len(self.states)
        overwrite = number > 0 and number % _OVERWRITTEN_EVERY == 0
        new = range(self._next, self._next + _ROWS)
        self._next += _ROWS
        kept: Iterable[int] = () if overwrite or not number else self.states[-1]
        with self._lock:
            self.states.append(frozenset((*kept, *new)))
            self.committed.append(now)
        self.written.commit(rows_of(new), overwrite=overwrite)
        self.finished.append(datetime.now(UTC))

    def wrong(self, rows: pa.Table, version: int | None, since: float, stale: float) -> str | None:
        """What is wrong with rows that were read."""
        ids = rows["id"].to_pylist()
        if len(set(ids)) != len(ids):
            return f"{self.name}: {len(ids) - len(set(ids))} rows were read twice"
        if (difference := wrong_values(rows)) is not None:
            return f"{self.name}: {difference}"
        with self._lock:
            states, committed = list(self.states), list(self.committed)
        found = frozenset(ids)
        if version is not None and self.versioned:
            return self._unlike(states, version, found)
        if found not in states:
            return f"{self.name}: the {len(found)} rows are those of no state"
        replaced = committed[states.index(found) + 1 :]
        if version is None and replaced and since - replaced[0] > stale:
            return f"{self.name}: the rows were replaced {since - replaced[0]:.0f} s before the request"
        return None

    def _unlike(self, states: Sequence[Ids], version: int, found: Ids) -> str | None:
        if version >= len(states):
            return f"{self.name}: there is no version {version}"
        missing, more = states[version] - found, found - states[version]
        if missing or more:
            return f"{self.name} version {version}: {len(missing)} rows lack, {len(more)} are too many"
        return None

    def between(self, version: int) -> datetime | None:
        """A time at which a version was the latest one, if there was such a time for certain.

        Stores know the time of a commit in seconds.
        """
        written = self.finished[version : version + 2]
        apart = len(written) == 2 and written[1] - written[0] > timedelta(seconds=5)
        return written[0] if apart else None

    def state(self, version: int) -> Ids:
        """The ids of the rows of a version."""
        with self._lock:
            return self.states[version]


def rows_of(ids: Iterable[int]) -> pa.Table:
    """The rows with these ids."""
    numbers = list(ids)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "part": pa.array([part_of(each) for each in numbers], pa.string()),
            "value": pa.array([value_of(each) for each in numbers], pa.int64()),
        }
    )


def part_of(id: int) -> str:
    """The partition of a row."""
    return f"p{id % PARTS}"


def value_of(id: int) -> int:
    """The value of a row."""
    return Random(id).randrange(1_000_000)


def wrong_values(rows: pa.Table) -> str | None:
    """The first row whose values are not those of its id."""
    for row in rows.to_pylist():
        expected = {"id": row["id"], "part": part_of(row["id"]), "value": value_of(row["id"])}
        if any(row[name] != expected[name] for name in row if name in expected):
            return f"the row {row} must be {expected}"
    return None


@dataclass(frozen=True)
class DeltaWritten:
    """A Delta table with a change data feed, partitioned by `part`."""

    location: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def commit(self, rows: pa.Table, *, overwrite: bool) -> None:
        """Append rows, or replace all."""
        write_deltalake(
            self.location,
            rows,
            mode="overwrite" if overwrite else "append",
            partition_by=["part"],
            configuration={"delta.enableChangeDataFeed": "true", "delta.checkpointInterval": "20"},
            storage_options=dict(self.options),
        )


@dataclass(frozen=True)
class IcebergWritten:
    """An Iceberg table of a catalog."""

    catalog: Catalog
    identifier: tuple[str, str]

    def commit(self, rows: pa.Table, *, overwrite: bool) -> None:
        """Append rows, or replace all."""
        self.catalog.create_table_if_not_exists(
            self.identifier, rows.schema, properties={"write.metadata.previous-versions-max": "20"}
        )
        table: Any = self.catalog.load_table(self.identifier)
        if overwrite:
            table.overwrite(rows)
        else:
            table.append(rows)
