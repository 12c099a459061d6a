"""Collects recently removed files of a Delta table, which VACUUM must not delete yet.

Source: Delta protocol, "Checkpoints" (which keep them until they expire) and "Action Reconciliation".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, Final

import obstore
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sluicegate.api import ObjectDirectory
from sluicegate.formats import DELETION_VECTOR
from sluicegate_spark.conversion.to_delta.delta_log import BATCH

TOMBSTONE: Final = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("dataChange", pa.bool_()),
        ("deletionVector", DELETION_VECTOR),
        ("deletionTimestamp", pa.int64()),
        ("extendedFileMetadata", pa.bool_()),
    ]
)
# Delta's default of `delta.deletedFileRetentionDuration`. A converted table doesn't set the property.
KEPT: Final = timedelta(weeks=1)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")

_Key = tuple[str, str | None]
_Removal = dict[str, Any]


def tombstones(directory: ObjectDirectory, version: int, now: datetime) -> Iterator[pa.StructArray]:
    """Return the removals that the checkpoint of a version must keep, as batches of `TOMBSTONE`.

    These are the removals since the previous checkpoint, and those in it whose files were not added
    again.
    """
    oldest = now - KEPT
    before, commits = _since_checkpoint(directory, version, oldest)
    since: dict[_Key, _Removal | None] = {}
    for commit in commits:
        for line in BytesIO(obstore.get(directory.store, _key_of(directory, commit)).bytes()):
            since |= _fate(orjson.loads(line))
    removed = [each | {"dataChange": False} for each in since.values() if each]
    for start in range(0, len(removed), BATCH):
        yield _young(pa.array(removed[start : start + BATCH], TOMBSTONE), oldest)
    for part in before:
        for kept in _removed_in(directory, part):
            yield _without(_young(kept, oldest), since)


def _since_checkpoint(
    directory: ObjectDirectory, version: int, oldest: datetime
) -> tuple[list[str], list[str]]:
    """Return the parts of the previous checkpoint, and later commits that are newer than `oldest`."""
    pages = obstore.list(directory.store, _key_of(directory, ""))
    found = {each["path"].rpartition("/")[2]: each["last_modified"] for page in pages for each in page}
    sets: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in found:
        if (match := _CHECKPOINT.fullmatch(name)) and int(match[1]) < version:
            sets[int(match[1]), int(match[2] or 1)].append(name)
    complete = {start: names for (start, parts), names in sets.items() if len(names) == parts}
    start = max(complete, default=-1)
    commits = (f"{each:020}.json" for each in range(start + 1, version + 1))
    young = [name for name in commits if name in found and found[name] > oldest]
    return complete.get(start, []), young


def _fate(action: Mapping[str, Any]) -> dict[_Key, _Removal | None]:
    """Return the removal that an action records, or `None` if it adds the file."""
    removed, added = action.get("remove"), action.get("add")
    return {
        (each["path"], (each.get("deletionVector") or {}).get("pathOrInlineDv")): removed
        for each in (removed, added)
        if each
    }


def _removed_in(directory: ObjectDirectory, checkpoint: str) -> Iterator[pa.StructArray]:
    with TemporaryFile() as file:
        for part in obstore.get(directory.store, _key_of(directory, checkpoint)):
            file.write(part)
        for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=["remove"]):
            yield batch.column("remove").drop_null().cast(TOMBSTONE)


def _young(removed: pa.StructArray, oldest: datetime) -> pa.StructArray:
    milliseconds = round(oldest.timestamp() * 1000)
    return removed.filter(pc.greater(pc.struct_field(removed, "deletionTimestamp"), milliseconds))


def _without(removed: pa.StructArray, files: Iterable[_Key]) -> pa.StructArray:
    paths = pc.struct_field(removed, "path").to_pylist()
    vectors = pc.struct_field(removed, ["deletionVector", "pathOrInlineDv"]).to_pylist()
    kept = [key not in files for key in zip(paths, vectors, strict=True)]
    return removed.filter(pa.array(kept, pa.bool_()))


def _key_of(directory: ObjectDirectory, name: str) -> str:
    return directory.key(f"_delta_log/{name}")
