"""Lists files in a table's directory that might be orphans, in Spark tasks."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import obstore
import pyarrow as pa
import pyarrow.compute as pc
from obstore.exceptions import BaseError

from sluicegate_spark.failures import reason_of
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.orphans.key_ranges import KeyRange, divided
from sluicegate_spark.purge.deletion import LISTS_FROM_KEY

if TYPE_CHECKING:
    from obstore.store import ObjectStore

KEYS: Final = "after string, until string, divisible boolean"
# Each row is a file, a range that is not listed yet, a file of another table, or an error.
LISTED: Final = f"key string, bytes long, {KEYS}, other string, error string"

_SCHEMA: Final = pa.schema(
    [
        ("key", pa.string()),
        ("bytes", pa.int64()),
        ("after", pa.string()),
        ("until", pa.string()),
        ("divisible", pa.bool_()),
        ("other", pa.string()),
        ("error", pa.string()),
    ]
)
_PAGE: Final = 10_000
_HIDDEN: Final = r"(^|/)[_.]"
_DELTA: Final = r"(^|/)_delta_log/"
_METADATA: Final = r"(^|/)[^/]*\.metadata\.json$"

Rows = Iterator[pa.RecordBatch]
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class TableDirectory:
    """A table's directory, and which of its files might be orphans.

    Names and directories that begin with `_` or `.` are skipped: Iceberg doesn't write such files, and
    other tools use these names to hide files.

    Attributes:
        location: The directory, without a trailing slash.
    """

    location: str
    metadata: str
    before: datetime
    shared: bool

    def candidates(self, listed: pa.RecordBatch, root: str) -> Rows:
        """Yield the possible orphans of listed objects, and a file of another table if there is one."""
        paths = pc.utf8_slice_codeunits(listed["path"], len(root))
        other = None if self.shared else self._of_another_table(paths)
        if other is not None:
            yield _row(other=other)
        old = pc.and_(
            pc.less(listed["last_modified"], pa.scalar(self.before, pa.timestamp("us", "UTC"))),
            pc.invert(pc.match_substring_regex(paths, _HIDDEN)),
        )
        yield _rows(key=listed["path"].filter(old), bytes=listed["size"].cast(pa.int64()).filter(old))

    def _of_another_table(self, paths: pa.StringArray) -> str | None:
        delta = paths.filter(pc.match_substring_regex(paths, _DELTA))
        if len(delta):
            return str(delta[0])
        metadata = paths.filter(pc.match_substring_regex(paths, _METADATA)).to_pylist()
        folders = ((path, f"{self.location}/{path}".rpartition("/")[0]) for path in metadata)
        return next((path for path, folder in folders if folder != self.metadata), None)


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """For `mapInArrow`: maps rows of `KEYS` to rows of `LISTED`.

    Attributes:
        seconds: After this time, divide what is left of a range.
        most: Divide what is left after this number of files; `None` if there is no limit.
    """

    access: ObjectAccess
    directory: TableDirectory
    seconds: float
    most: int | None = None

    def __call__(self, batches: Batches) -> Rows:
        """Yield the files of each range, and the ranges that are left."""
        for batch in batches:
            for row in batch.to_pylist():
                try:
                    left = yield from self._listed(KeyRange(**row))
                except (BaseError, OSError) as error:
                    yield _row(error=reason_of(error))
                else:
                    yield ranges(left)

    def _listed(self, keys: KeyRange) -> Generator[pa.RecordBatch, None, list[KeyRange]]:
        store, key = self.access.open(self.directory.location)
        root = f"{key.rstrip('/')}/" if key else ""
        if self.access.credentials.kind not in LISTS_FROM_KEY:
            return (yield from self._level(store, root, keys))
        end, found = time.monotonic() + self.seconds, 0
        size = min(_PAGE, self.most or _PAGE)
        for page in obstore.list(
            store, root, offset=keys.after or None, chunk_size=size, return_arrow=True
        ):
            listed = pa.record_batch(page)
            own = _until(listed, keys)
            yield from self.directory.candidates(own, root)
            if own.num_rows < listed.num_rows:
                break
            found += own.num_rows
            if time.monotonic() >= end or (self.most is not None and found >= self.most):
                rest = KeyRange(listed["path"][-1].as_py(), keys.until, keys.divisible)
                return divided(rest, partial(_first_after, store, root)) if rest.divisible else [rest]
        return []

    def _level(
        self, store: ObjectStore, root: str, keys: KeyRange
    ) -> Generator[pa.RecordBatch, None, list[KeyRange]]:
        """List a directory of a store that can't start a listing at a key.

        The directory is `keys.after`. Its directories are left, unless the first page shows none.
        """
        folder = keys.after or root
        pages = (
            pa.record_batch(page)
            for page in obstore.list(store, folder, chunk_size=_PAGE, return_arrow=True)
        )
        first = next(pages, None)
        if first is None:
            return []
        nested = pc.find_substring(pc.utf8_slice_codeunits(first["path"], len(folder)), "/")
        if pc.max(nested).as_py() < 0:
            yield from self.directory.candidates(first, root)
            for page in pages:
                yield from self.directory.candidates(page, root)
            return []
        level = obstore.list_with_delimiter(store, folder, return_arrow=True)
        for objects in pa.table(level["objects"]).to_batches():
            yield from self.directory.candidates(objects, root)
        return [KeyRange(f"{each}/") for each in level["common_prefixes"]]


def ranges(keys: Sequence[KeyRange]) -> pa.RecordBatch:
    """Return rows of `LISTED` for ranges that are left."""
    return _rows(
        after=pa.array([each.after for each in keys], pa.string()),
        until=pa.array([each.until for each in keys], pa.string()),
        divisible=pa.array([each.divisible for each in keys], pa.bool_()),
    )


def _until(listed: pa.RecordBatch, keys: KeyRange) -> pa.RecordBatch:
    """Return the listed objects up to the first one that follows the range."""
    if not keys.until:
        return listed
    following = pc.index(pc.greater(listed["path"], keys.until), True).as_py()
    return listed if following < 0 else listed.slice(0, following)


def _first_after(store: ObjectStore, root: str, offset: str) -> str | None:
    page = next(iter(obstore.list(store, root, offset=offset or None, chunk_size=1)), ())
    return next((str(each["path"]) for each in page), None)


def _row(**values: Any) -> pa.RecordBatch:
    return _rows(**{name: pa.array([value], pa.string()) for name, value in values.items()})


def _rows(**columns: pa.Array) -> pa.RecordBatch:
    """Return rows in which all other columns are null."""
    count = len(next(iter(columns.values())))
    return pa.RecordBatch.from_arrays(
        [columns.get(each.name, pa.nulls(count, each.type)) for each in _SCHEMA], schema=_SCHEMA
    )
