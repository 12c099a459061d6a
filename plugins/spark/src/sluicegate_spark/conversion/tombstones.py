"""Files that were removed from a Delta table lately, which VACUUM spares.

Source: Delta protocol, "Checkpoints" (which keep them until they expire) and "Action Reconciliation".
"""

from __future__ import annotations

import re
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
from sluicegate_spark.conversion.delta_log import BATCH

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
# Delta's default of `delta.deletedFileRetentionDuration`, which a converted table does not have.
_KEPT = timedelta(weeks=1)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")

_Key = tuple[str, str | None]
_Removal = dict[str, Any]


def tombstones(directory: ObjectDirectory, version: int, now: datetime) -> Iterator[pa.StructArray]:
    """The removals that a version's checkpoint has to keep, `TOMBSTONE`s in batches.

    They are those since the checkpoint before, and those in it of files that did not come back.

    Args:
        directory: The table's.
        version: A version that was committed.
        now: Removals of a week before have expired.
    """
    oldest = now - _KEPT
    before, commits = _since_checkpoint(directory, version, oldest)
    since: dict[_Key, _Removal | None] = {}
    for commit in commits:
        for line in BytesIO(obstore.get(directory.store, _key_of(directory, commit)).bytes()):
            since |= _fate(orjson.loads(line))
    removed = [each | {"dataChange": False} for each in since.values() if each]
    for start in range(0, len(removed), BATCH):
        yield _young(pa.array(removed[start : start + BATCH], TOMBSTONE), oldest)
    for kept in _removed_in(directory, before) if before else ():
        yield _without(_young(kept, oldest), since)


def _since_checkpoint(
    directory: ObjectDirectory, version: int, oldest: datetime
) -> tuple[str | None, list[str]]:
    """The checkpoint before a version, and the commits since it, without those of before `oldest`."""
    pages = obstore.list(directory.store, _key_of(directory, ""))
    found = {each["path"].rpartition("/")[2]: each["last_modified"] for page in pages for each in page}
    known = (int(match[1]) for name in found if (match := _CHECKPOINT.fullmatch(name)))
    start = max((each for each in known if each < version), default=-1)
    commits = (f"{each:020}.json" for each in range(start + 1, version + 1))
    young = [name for name in commits if name in found and found[name] > oldest]
    return (None if start < 0 else f"{start:020}.checkpoint.parquet"), young


def _fate(action: Mapping[str, Any]) -> dict[_Key, _Removal | None]:
    """What became of the file that an action is about: its removal, `None` if it was added."""
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
