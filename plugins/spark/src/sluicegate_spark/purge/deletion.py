"""Deletes objects in batches, and verifies which ones were deleted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, islice
from os.path import commonpath
from typing import TYPE_CHECKING, TypeVar

import obstore
from obstore.exceptions import BaseError

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.failures import reason_of
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.pace import Pace

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

BATCH = 1_000
_BATCH_SECONDS = 4  # with a limit on deletions, batches are smaller
# Listings reject such files earlier. If one was overlooked, nothing of its batch is deleted.
_NOT_GRANTED = "the realm of the task is not granted its location"
# If a listing has returned this many objects outside the batch, single lookups are faster.
_LONGEST_LISTING = 4 * BATCH
_AT_ONCE = 16
# Deletions per request. Google's store has no bulk request.
_KEYS_OF_REQUEST: Mapping[str, int] = {"aws": 1_000, "azure": 256, "gcp": 1}
# Azure can't start a listing at an offset.
LISTS_FROM_KEY = frozenset({"aws", "gcp"})


@dataclass(frozen=True, slots=True)
class Deletion:
    """The outcome of a deletion.

    Attributes:
        size: Total bytes of the deleted objects.
    """

    seen: int = 0
    deleted: int = 0
    size: int = 0
    left: int = 0
    example: str = ""
    reason: str = ""

    def __add__(self, other: Deletion) -> Deletion:
        """Add two outcomes. The first example is kept."""
        shown = self if self.left else other
        return Deletion(
            self.seen + other.seen,
            self.deleted + other.deleted,
            self.size + other.size,
            self.left + other.left,
            shown.example,
            shown.reason,
        )

    @property
    def to_repeat(self) -> Deletion:
        """Return what to count of a deletion that is repeated for the same objects."""
        return Deletion(deleted=self.deleted, size=self.size)


def delete_objects(
    access: ObjectAccess, locations: Iterable[str], pace: Pace | None = None
) -> Deletion:
    """Delete objects. Missing objects are not an error."""
    return sum((done for _, done in delete_batches(access, iter(locations), pace)), Deletion())


def delete_batches(
    access: ObjectAccess, locations: Iterator[str], pace: Pace | None = None, end: float = math.inf
) -> Generator[tuple[str, Deletion], None, None]:
    """Delete objects in batches. While a batch is deleted, the objects of the next one are listed.

    Args:
        end: Begin no batch after this time, except the first one, by `time.monotonic`. A batch whose
            objects are listed is also deleted, so that no listing is wasted.

    Yields:
        The last location of each batch, and the outcome.
    """
    pace = pace or Pace(None)
    size = pace.most(BATCH, _BATCH_SECONDS)
    listed: tuple[str, Future[list[_Batch | Deletion]]] | None = None
    with ThreadPoolExecutor(1) as pool:
        batch = list(islice(locations, size))
        while batch:
            following = batch[-1], pool.submit(_look, access, batch)
            if listed is not None:
                yield _deleted(listed[1].result(), listed[0], pace)
            listed = following
            batch = list(islice(locations, size)) if time.monotonic() < end else []
        if listed is not None:
            yield _deleted(listed[1].result(), listed[0], pace)


def _look(access: ObjectAccess, locations: Sequence[str]) -> list[_Batch | Deletion]:
    """Find out which objects exist; those that can't be deleted are outcomes already."""
    buckets = groupby(locations, key=_bucket_of)
    return [
        found
        for (scheme, bucket), of_bucket in buckets
        for found in _look_in_bucket(access, f"{scheme}://{bucket}", list(of_bucket))
    ]


def _bucket_of(location: str) -> tuple[str, str]:
    scheme, _, rest = literal_location(location).partition("://")
    return scheme, rest.partition("/")[0]


def _look_in_bucket(
    access: ObjectAccess, bucket: str, locations: Sequence[str]
) -> Iterator[_Batch | Deletion]:
    keys = [literal_location(each).removeprefix(bucket).removeprefix("/") for each in locations]
    if outside := [each for each in locations if not access.granted.allows(each)]:
        yield Deletion(len(locations), left=len(locations), example=outside[0], reason=_NOT_GRANTED)
        return
    nameable = sorted(filter(_is_nameable, set(keys)))
    if odd := len(set(keys)) - len(nameable):
        example = next(key for key in keys if not _is_nameable(key))
        why = "its key has an empty segment, '.' or '..', so no request can name it"
        yield Deletion(odd, left=odd, example=f"{bucket}/{example}", reason=why)
    if nameable:
        yield _opened(access, bucket, nameable)


def _opened(access: ObjectAccess, bucket: str, keys: Sequence[str]) -> _Batch | Deletion:
    try:
        return _Batch(access, bucket, keys)
    except UnsupportedOperation as error:
        example = f"{bucket}/{keys[0]}"
        return Deletion(len(keys), left=len(keys), example=example, reason=error.message)


def _deleted(found: Sequence[_Batch | Deletion], last: str, pace: Pace) -> tuple[str, Deletion]:
    outcomes = (each if isinstance(each, Deletion) else each.delete(pace) for each in found)
    return last, sum(outcomes, Deletion())


def _is_nameable(key: str) -> bool:
    """Return whether requests can name this object: for `/a` and `a/`, they would name `a` instead."""
    return not {"", ".", ".."} & set(key.split("/"))


class _Batch:
    """Objects of one bucket, sorted by key; those that exist are listed immediately."""

    def __init__(self, access: ObjectAccess, bucket: str, keys: Sequence[str]) -> None:
        self._store = access.bucket(f"{bucket}/")
        self._kind = access.credentials.kind
        self._bucket = bucket
        self._keys = keys
        self._there: dict[str, int] | Exception
        try:
            self._there = self._sizes(keys)
        except (BaseError, OSError) as error:
            self._there = error

    def delete(self, pace: Pace) -> Deletion:
        """Delete existing objects. If deletion fails, check again what exists."""
        there = self._there
        if isinstance(there, Exception):
            return self._left(self._keys, Deletion(len(self._keys)), there)
        errors = self._requests(sorted(there), pace)
        if not errors:
            return Deletion(len(self._keys), len(there), sum(there.values()))
        try:
            left = self._sizes(sorted(there))
        except (BaseError, OSError) as error:
            left, errors = there, [*errors, error]
        gone = there.keys() - left.keys()
        done = Deletion(len(self._keys), len(gone), sum(there[key] for key in gone))
        return self._left(sorted(left), done, errors[0]) if left else done

    def _left(self, keys: Sequence[str], done: Deletion, error: Exception) -> Deletion:
        reason = reason_of(error)
        # The error names one of the objects that the store denied.
        named = next((key for key in keys if key in str(error)), keys[0])
        example = f"{self._bucket}/{named}"
        return Deletion(done.seen, done.deleted, done.size, len(keys), example, reason)

    def _requests(self, keys: Sequence[str], pace: Pace) -> list[Exception]:
        """Request the deletion of objects, and return the errors."""
        size = pace.most(_KEYS_OF_REQUEST[self._kind])
        parts = [keys[start : start + size] for start in range(0, len(keys), size)]

        def ask(part: Sequence[str]) -> Exception | None:
            pace.wait(len(part))
            try:
                obstore.delete(self._store, part)
            except FileNotFoundError:
                return None  # someone else already deleted it
            except (BaseError, OSError) as error:
                return error
            return None

        return [error for error in _side_by_side(ask, parts) if error is not None]

    def _sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return sizes in bytes of the objects that exist."""
        if self._kind not in LISTS_FROM_KEY or len(keys) == 1:
            return _looked_up(self._store, keys)
        found = _listed(self._store, keys)
        # Not every store lists keys in order, so objects missing from the listing might exist.
        return found | _looked_up(self._store, [key for key in keys if key not in found])


def _listed(store: ObjectStore, keys: Sequence[str]) -> dict[str, int]:
    """Return sizes in bytes of objects found by a listing before it is abandoned."""
    first, last, wanted = keys[0], keys[-1], set(keys)
    folder = commonpath([each.rpartition("/")[0] for each in (first, last)])
    found: dict[str, int] = {}
    shown = 0
    # Listings start after their offset.
    for page in obstore.list(store, prefix=folder or None, offset=first[:-1], chunk_size=BATCH):
        found |= {each["path"]: each["size"] for each in page if each["path"] in wanted}
        shown += len(page)
        if page[-1]["path"] >= last or shown >= _LONGEST_LISTING:
            break
    return found


def _looked_up(store: ObjectStore, keys: Sequence[str]) -> dict[str, int]:
    def look(key: str) -> int | None:
        try:
            return obstore.head(store, key)["size"]
        except FileNotFoundError:
            return None

    sizes = zip(keys, _side_by_side(look, keys), strict=True)
    return {key: size for key, size in sizes if size is not None}


def _side_by_side(work: Callable[[_Given], _Made], items: Sequence[_Given]) -> list[_Made]:
    if len(items) < 2:
        return [work(each) for each in items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, items))
