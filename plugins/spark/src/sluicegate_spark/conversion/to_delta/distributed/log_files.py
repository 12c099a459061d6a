"""Lists a Delta log, and reads its newest protocol and properties without its files.

Each commit of a conversion has the table's metadata in its first lines.
Source: Delta protocol, "Delta Log Entries", "Checkpoints".
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import obstore
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import BaseError

from sluicegate.api import ObjectDirectory, StorageError, TableUnreadable, without_queries
from sluicegate.formats import RangedFile, TableProtocol

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ObjectStore
    from typing_extensions import Buffer

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_HEADER = (b'{"commitInfo"', b'{"protocol"', b'{"metaData"')
_HEADS: Final = (1 << 16, 1 << 20, 1 << 24)  # bytes; most tables have few columns
_PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True)
class LogFile:
    """A commit, or a part of a checkpoint.

    Attributes:
        size: Its size in bytes.
    """

    name: str
    version: int
    size: int

    @property
    def is_checkpoint(self) -> bool:
        """Return whether it is a part of a checkpoint."""
        return self.name.endswith(".parquet")


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The files of a log."""

    commits: Mapping[int, LogFile]
    checkpoints: Mapping[int, tuple[LogFile, ...]]

    def segments(self, version: int, *, before: int | None = None) -> Iterator[tuple[LogFile, ...]]:
        """Yield sets of files from which a version can be read, that of the newest checkpoint first."""
        newest = version if before is None else before - 1
        for base in (*sorted(self.checkpoints, reverse=True), -1):
            needed = range(base + 1, version + 1)
            if base <= newest and all(number in self.commits for number in needed):
                later = (self.commits[number] for number in needed)
                yield *self.checkpoints.get(base, ()), *later


@dataclass(frozen=True, slots=True)
class LogHead:
    """A version of a converted table, without its files."""

    version: int
    protocol: TableProtocol
    configuration: Mapping[str, str]
    files: LogFiles


def read_head(directory: ObjectDirectory) -> LogHead | None:
    """Return the newest version of a converted table, or `None` if the directory has no log."""
    try:
        files = list_log(directory)
        if not files.commits and not files.checkpoints:
            return None
        return _head(directory, files)
    except (BaseError, OSError) as error:
        raise StorageError(
            "the table's storage does not respond, or denies access; try again later",
            detail=without_queries(f"_delta_log: {type(error).__name__}: {error}"),
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise TableUnreadable("the Delta log is damaged", detail=type(error).__name__) from error


def list_log(directory: ObjectDirectory) -> LogFiles:
    """Return the files of a log. Raises the errors of the store's client."""
    commits: dict[int, LogFile] = {}
    parts: dict[tuple[int, int], dict[int, LogFile]] = defaultdict(dict)
    for page in obstore.list(directory.store, directory.key("_delta_log/")):
        for each in page:
            name = each["path"].rpartition("/")[2]
            if match := _COMMIT.fullmatch(name):
                commits[int(match[1])] = LogFile(name, int(match[1]), each["size"])
            elif match := _CHECKPOINT.fullmatch(name):
                number, of = int(match[2] or 1), int(match[3] or 1)
                parts[int(match[1]), of][number] = LogFile(name, int(match[1]), each["size"])
    # Of one version, the checkpoint with the fewest parts is used.
    complete = {
        version: tuple(found[number] for number in sorted(found))
        for (version, of), found in sorted(parts.items(), reverse=True)
        if len(found) == of and min(found) == 1 and max(found) == of
    }
    return LogFiles(commits, complete)


def _head(directory: ObjectDirectory, files: LogFiles) -> LogHead:
    version = max((*files.commits, *files.checkpoints))
    header = _header(directory, files.commits[version])
    configuration = {str(key): str(value) for key, value in header["metaData"]["configuration"].items()}
    protocol = header.get(_PROTOCOL) or _earlier_protocol(directory, files, version)
    return LogHead(version, _parsed(protocol), configuration, files)


def _header(directory: ObjectDirectory, commit: LogFile) -> dict[str, Any]:
    """Return the actions before the first file of a commit."""
    for most in _HEADS:
        length = min(commit.size, most)
        options: GetOptions = {"range": (0, length)}
        key = key_of(directory, commit.name)
        start = obstore.get(directory.store, key, options=options).bytes() if length else b""
        found: dict[str, Any] = {}
        for line in io.BytesIO(start):
            if not line.startswith(_HEADER):
                return found
            if not line.endswith(b"\n") and length < commit.size:
                break  # continues after the bytes that were read
            found |= orjson.loads(line)
        else:
            if length == commit.size:
                return found
    raise ValueError("the first lines are too long")


def _earlier_protocol(directory: ObjectDirectory, files: LogFiles, version: int) -> Mapping[str, Any]:
    """Return the protocol at a version whose own commit doesn't contain one."""
    for segment in files.segments(version - 1):
        for file in reversed(segment):
            if file.is_checkpoint:
                break
            if found := _header(directory, file).get(_PROTOCOL):
                return dict(found)
        try:
            found = _in_checkpoint(directory, segment[0])
        except pa.ArrowException:
            continue  # damaged
        if found:
            return found
    raise KeyError(_PROTOCOL)


def _in_checkpoint(directory: ObjectDirectory, file: LogFile) -> dict[str, Any] | None:
    parquet = open_parquet(directory, file)
    for number in range(parquet.num_row_groups):
        column = parquet.read_row_group(number, columns=[_PROTOCOL]).column(_PROTOCOL).drop_null()
        if len(column):
            return dict(column[0].as_py())
    return None


def _parsed(action: Mapping[str, Any]) -> TableProtocol:
    readers, writers = (
        None if (names := action.get(kind)) is None else tuple(map(str, names))
        for kind in ("readerFeatures", "writerFeatures")
    )
    reader, writer = (int(action[kind]) for kind in ("minReaderVersion", "minWriterVersion"))
    return TableProtocol(reader, writer, readers, writers)


def key_of(directory: ObjectDirectory, name: str) -> str:
    """Return the key of a file of the log."""
    return directory.key(f"_delta_log/{name}")


def open_parquet(directory: ObjectDirectory, file: LogFile) -> pq.ParquetFile:
    """Open a part of a checkpoint. Only the parts that are read are fetched."""
    return pq.ParquetFile(_Ranged(directory.store, key_of(directory, file.name), file.size))


class _Ranged(RangedFile):
    """An object as a file. Each read is one request."""

    def __init__(self, store: ObjectStore, key: str, size: int) -> None:
        super().__init__(size)
        self._store, self._key = store, key

    def fetch(self, start: int, end: int) -> Buffer:
        return obstore.get_range(self._store, self._key, start=start, end=end)
