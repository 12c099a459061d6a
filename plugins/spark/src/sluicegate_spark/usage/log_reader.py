"""Reads access logs on Spark's executors: one row for each read of an object, and each broken line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple

import obstore
import pyarrow as pa

from sluicegate.api import SluicegateError
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.usage.access_log import OBJECT_READ, BrokenLine, LoggedRequest, parse_line

LONGEST_LINE: Final = 65_536
"""Bytes. S3 limits keys to 1,024 bytes, and headers to 8 kB in sum."""


class LogLine(NamedTuple):
    """A line, or its begin if it is too long.

    Attributes:
        content: At most `longest` bytes, without the end of the line.
    """

    number: int
    content: bytes
    is_complete: bool


def lines_of(chunks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[LogLine]:
    """Return the lines of a file that are not empty."""
    number, begin, is_complete = 1, b"", True
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            begin, is_complete = _joined(begin, part, is_complete, longest)
            if begin:
                yield LogLine(number, begin, is_complete)
            number, begin, is_complete = number + 1, b"", True
        begin, is_complete = _joined(begin, rest, is_complete, longest)
    if begin:
        yield LogLine(number, begin, is_complete)


def _joined(begin: bytes, part: bytes, is_complete: bool, longest: int) -> tuple[bytes, bool]:
    joined = begin + part[: longest + 1]
    return joined[:longest], is_complete and len(joined) <= longest


_SHOWN: Final = 300  # characters
# Signatures and tokens are in queries, and in broken lines the query can be anywhere. All that follows
# the first sign of one is left out: the log itself still has it.
_SECRETS_BEGIN: Final = re.compile(
    r"\?|%3f|x-amz|x%2damz|signature|credential|token|authorization|awsaccesskeyid|sig=|sig%3d",
    re.IGNORECASE,
)
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e]")


def redacted(line: bytes) -> str:
    """Return the begin of a line up to its first possible secret, as printable ASCII."""
    text = line[: 2 * _SHOWN].decode("ascii", "replace")
    begins = _SECRETS_BEGIN.search(text)
    shown = text if begins is None else text[: begins.start()]
    return _UNPRINTABLE.sub("�".encode("ascii", "replace").decode(), shown)[:_SHOWN]


# Reads, broken lines (with a `reason`), and numbers of other requests and of files.
ROWS: Final = (
    "kind string, event_id string, day date, at timestamp, bucket string, key string, status int, "
    "bytes bigint, address string, session string, request_id string, signed_at timestamp, "
    "url_expires_at timestamp, label string, is_late boolean, file string, line bigint, lines bigint, "
    "reason string, content string"
)
READ, BROKEN, OTHER, FILE = "read", "broken", "other", "file"

_TIME: Final = pa.timestamp("us", "UTC")
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": _TIME,
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
}
_SCHEMA: Final = pa.schema(
    [(name, _TYPES[kind]) for name, kind in (column.split() for column in ROWS.split(", "))]
)
_BATCH: Final = 10_000
# Further broken lines of a file are counted in one row, so that a file of another kind adds few rows.
_MOST_BROKEN: Final = 1_000
_TOO_LONG: Final = f"longer than {LONGEST_LINE} bytes"
# A store writes most log files within some hours of the request.
_LATE_AFTER: Final = timedelta(days=1)
_CLOCK_SKEW: Final = timedelta(days=1)
# Each day is a partition of the tables, so wrong times must not become many of them.
_OLDEST: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class LogReader:
    """For `mapInArrow`: maps log files to rows of `ROWS`."""

    access: ObjectAccess

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each file, in batches of bounded size."""
        rows: list[dict[str, Any]] = []
        for batch in batches:
            for file in batch.to_pylist():
                for row in self._rows(file["path"], file["modificationTime"]):
                    rows.append(row)
                    if len(rows) >= _BATCH:
                        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)
                        rows = []
        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)

    def _rows(self, path: str, written_at: datetime) -> Iterator[dict[str, Any]]:
        log = _LogFile(path, written_at)
        try:
            store, key = self.access.open(path)
        except SluicegateError:
            yield log.broken(0, "the name of the file is ambiguous", b"")
            return
        try:
            for line in lines_of(map(bytes, obstore.get(store, key).stream())):
                if (row := log.row(line)) is not None:
                    yield row
        except FileNotFoundError:
            yield log.broken(0, "the file was deleted before it was read", b"")
        yield from log.sums()


class _LogFile:
    """The rows of one file."""

    def __init__(self, path: str, written_at: datetime) -> None:
        self._path = path
        self._written_at = written_at.astimezone(UTC)
        self._broken = 0
        self._other = 0

    def row(self, line: LogLine) -> dict[str, Any] | None:
        """Return the row of a line, or `None` if it is only counted."""
        try:
            if not line.is_complete:
                raise BrokenLine(_TOO_LONG)
            request = parse_line(line.content)
            if request.at > self._written_at + _CLOCK_SKEW:
                raise BrokenLine("a time after the file was written")
            if request.at < self._written_at - _OLDEST:
                raise BrokenLine("a time long before the file was written")
        except BrokenLine as error:
            self._broken += 1
            if self._broken > _MOST_BROKEN:
                return None
            return self.broken(line.number, str(error), line.content)
        if request.operation != OBJECT_READ:
            self._other += 1
            return None
        return self._read(request, line.number)

    def broken(self, number: int, reason: str, content: bytes, lines: int = 1) -> dict[str, Any]:
        """Return the row of a broken line, or of several."""
        return {
            "kind": BROKEN,
            "event_id": _digest(self._path, str(number), reason),
            "day": self._written_at.date(),
            "at": self._written_at,
            "file": self._path,
            "line": number,
            "lines": lines,
            "reason": reason,
            "content": redacted(content),
        }

    def sums(self) -> Iterator[dict[str, Any]]:
        """Return the rows that count what has no rows, and the file."""
        further = self._broken - _MOST_BROKEN
        if further > 0:
            yield self.broken(0, f"further lines after {_MOST_BROKEN:,} broken ones", b"", further)
        if self._other:
            yield {"kind": OTHER, "lines": self._other}
        yield {"kind": FILE, "lines": 1}

    def _read(self, request: LoggedRequest, number: int) -> dict[str, Any]:
        return {
            "kind": READ,
            "event_id": _event_id(request),
            "day": request.at.date(),
            "at": request.at,
            "bucket": request.bucket,
            "key": request.key,
            "status": request.status,
            "bytes": request.bytes,
            "address": request.address,
            "session": request.session,
            "request_id": request.request_id,
            "signed_at": request.signed_at,
            "url_expires_at": request.url_expires_at,
            "label": request.label,
            "is_late": self._written_at - request.at > _LATE_AFTER,
            "file": self._path,
            "line": number,
            "lines": 1,
        }


def _event_id(request: LoggedRequest) -> str:
    """Return the same id wherever and however often the request is logged."""
    return _digest(request.bucket, request.at.isoformat(), request.request_id, request.key)


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
