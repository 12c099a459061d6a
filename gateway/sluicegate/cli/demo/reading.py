"""Reads the demo's tables as a recipient does: with the official client, from the profile."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate._util.clock import iso_utc, ms_of
from sluicegate.api.errors import SluicegateError
from sluicegate.cli.demo.folder import HOST, SCHEMA, SHARE
from sluicegate.cli.demo.tables import DemoTable, TableVersion, missing_library
from sluicegate.telemetry.redaction import redact

if TYPE_CHECKING:
    import pandas as pd


def difference(expected: pa.Table, frame: pd.DataFrame) -> str | None:
    """Describe the first difference between a frame and the expected rows, or return `None`."""
    if list(frame.columns) != expected.column_names:
        return f"the columns are {list(frame.columns)} instead of {expected.column_names}"
    if len(frame) != expected.num_rows:
        return f"there are {len(frame)} rows instead of {expected.num_rows}"
    try:
        found = pa.Table.from_pandas(frame, expected.schema, preserve_index=False)
    except pa.ArrowException as error:
        return f"a column has values that its type doesn't allow: {error}"
    wanted, read = _counts(expected), _counts(found)
    if wanted == read:
        return None
    missing, added = (next(iter(rows)) for rows in (wanted - read, read - wanted))
    return f"a row is {added} instead of {missing}"


def _counts(table: pa.Table) -> Counter[Hashable]:
    columns = [
        [_comparable(value, column.type) for value in column.to_pylist()] for column in table.columns
    ]
    return Counter(zip(*columns, strict=True))


def _comparable(value: Any, kind: pa.DataType) -> Hashable:
    """A hashable form of a value. Two values of a type are equal if and only if their forms are."""
    if value is None or value != value:
        return None
    if pa.types.is_struct(kind):
        return tuple(_comparable(value[field.name], field.type) for field in kind.fields)
    if pa.types.is_map(kind):
        pairs = ((_comparable(key, kind.key_type), item) for key, item in value)
        return frozenset((key, _comparable(item, kind.item_type)) for key, item in pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return tuple(_comparable(item, kind.value_type) for item in value)
    hashable: Hashable = value
    return hashable


# The client's default of ten retries would take minutes if the gateway fails.
_RETRIES = 2
_SHOWN_ROWS, _SHOWN_COLUMNS, _SHOWN_CHARACTERS = 4, 6, 24


class DemoFailed(SluicegateError):
    """A recipient cannot read a shared table, or reads other rows than those written."""


class Recipient:
    """A recipient with a profile and the official client."""

    def __init__(self, profile: Path) -> None:
        try:
            import delta_sharing
        except ImportError as error:
            raise missing_library("delta-sharing") from error
        self.client = f"delta-sharing {delta_sharing.__version__}"
        self._profile = profile
        _reach_loopback_directly()

    def read(
        self, table: str, *, version: int | None = None, timestamp: str | None = None
    ) -> pd.DataFrame:
        """Read the rows of a table."""
        from delta_sharing.protocol import DeltaSharingProfile, Table
        from delta_sharing.reader import DeltaSharingReader
        from delta_sharing.rest_client import DataSharingRestClient

        with self._profile.open() as file:
            client = DataSharingRestClient(DeltaSharingProfile.read_from_file(file), _RETRIES)
        named = Table(table, share=SHARE, schema=SCHEMA)
        try:
            return DeltaSharingReader(named, client, version=version, timestamp=timestamp).to_pandas()
        except Exception as error:
            raise DemoFailed(f"{table} cannot be read: {_said(error)}") from error
        finally:
            client.close()


def show(frame: pd.DataFrame) -> Iterator[str]:
    """The first rows, formatted as lines that fit in a terminal."""
    text = frame.head(_SHOWN_ROWS).to_string(
        max_cols=_SHOWN_COLUMNS, max_colwidth=_SHOWN_CHARACTERS, index=False, show_dimensions=False
    )
    return (f"    {line}" for line in text.splitlines())


def verify(recipient: Recipient, table: DemoTable, say: Callable[[str], None]) -> None:
    """Read all versions of a table, by number and by time, and compare every row."""
    for number, version in enumerate(table.versions):
        _compare(f"{table.name} version {number}", version, recipient.read(table.name, version=number))
        say(f"    version {number}: {version.rows.num_rows:,} rows as written")
    for number, version in enumerate(table.versions[:-1]):
        at = iso_utc(ms_of(version.at))
        _compare(f"{table.name} at {at}", version, recipient.read(table.name, timestamp=at))
        say(f"    version {number}: the same by its time, {at}")


def verify_latest(table: DemoTable, frame: pd.DataFrame) -> None:
    """Compare the rows of the newest version."""
    _compare(table.name, table.versions[-1], frame)


def _said(error: Exception) -> str:
    """The gateway's error message, or else the client's, with signatures of URLs redacted."""
    try:
        answer = error.response.json()  # type: ignore[attr-defined]
        return f"{answer['errorCode']}: {answer['message']}"
    except (AttributeError, ValueError, KeyError):
        return redact(f"{type(error).__name__}: {error}")


def _compare(what: str, version: TableVersion, frame: pd.DataFrame) -> None:
    found = difference(version.rows, frame)
    if found is not None:
        raise DemoFailed(f"{what} was not read as it was written: {found}")


def _reach_loopback_directly() -> None:
    """Exclude this process's own requests from any configured proxy."""
    for variable in ("no_proxy", "NO_PROXY"):
        hosts = [name for name in os.environ.get(variable, "").split(",") if name]
        if HOST not in hosts:
            os.environ[variable] = ",".join([*hosts, HOST])
