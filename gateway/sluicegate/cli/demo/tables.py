"""Writes the demo's tables as Delta tables, with the rows that each version must return."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.demo import samples

# Time travel distinguishes versions by the modification times of their files, which some file systems
# round.
_BETWEEN_VERSIONS = 0.02


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table."""

    rows: pa.Table
    at: datetime


@dataclass(frozen=True, slots=True)
class DemoTable:
    """A written table: its name, a short description, and its versions, starting with 0."""

    name: str
    about: str
    versions: tuple[TableVersion, ...]


def write_tables(folder: Path) -> Iterator[DemoTable]:
    """Write the three tables into subfolders that have their names."""
    try:
        import deltalake  # noqa: F401
    except ImportError as error:
        raise missing_library("deltalake") from error
    for name, about, write in (
        ("orders", "partitioned by country, four versions", _write_orders),
        ("types", "nested, and every primitive type", _write_types),
        ("readings", "ten thousand rows", _write_readings),
    ):
        yield DemoTable(name, about, tuple(write(folder / name)))


def missing_library(name: str) -> ConfigurationError:
    """The error for a package that the demo needs and that is not installed."""
    return ConfigurationError(
        f"the demo needs the Python package {name}, which is not installed: "
        "pip install 'sluicegate[demo]'"
    )


def _write_orders(location: Path) -> Iterator[TableVersion]:
    """Append, append, delete some rows, append."""
    from deltalake import DeltaTable, write_deltalake

    def append(rows: pa.Table) -> None:
        write_deltalake(location, rows, mode="append", partition_by=["country"])

    rows = samples.orders(1)
    yield _committed(rows, lambda: append(rows))
    more = samples.orders(2)
    yield _committed(pa.concat_tables([rows, more]), lambda: append(more))
    kept = pa.concat_tables([rows, more]).filter(pc.field("status") != "cancelled")
    yield _committed(kept, lambda: DeltaTable(location).delete("status = 'cancelled'"))
    last = samples.orders(3)
    yield _committed(pa.concat_tables([kept, last]), lambda: append(last))


def _write_types(location: Path) -> Iterator[TableVersion]:
    yield _created(location, samples.types())


def _write_readings(location: Path) -> Iterator[TableVersion]:
    yield _created(location, samples.readings(10_000))


def _created(location: Path, rows: pa.Table) -> TableVersion:
    from deltalake import write_deltalake

    return _committed(rows, lambda: write_deltalake(location, rows))


def _committed(rows: pa.Table, commit: Callable[[], object]) -> TableVersion:
    commit()
    time.sleep(_BETWEEN_VERSIONS)
    at = datetime.now(UTC)
    time.sleep(_BETWEEN_VERSIONS)
    return TableVersion(rows, at)
