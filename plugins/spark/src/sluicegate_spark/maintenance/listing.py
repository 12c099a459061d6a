"""What is in a table's directory that may be an orphan."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import obstore
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import StorageError, TaskFailed
from sluicegate_spark.failures import reason_of
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import Table

FILES: Final = pa.schema([("location", pa.string()), ("bytes", pa.int64())])

_LISTED: Final = 10_000  # files of one batch
_HIDDEN: Final = r"(^|/)[_.]"
_DELTA: Final = r"(^|/)_delta_log/"
_METADATA: Final = r"(^|/)[^/]*\.metadata\.json$"


async def old_files(access: ObjectAccess, table: Table, before: datetime, *, shared: bool) -> pa.Table:
    """The files of a table's directory that were last modified before a time, of `FILES`.

    What has a name, or is in a directory, that begins with `_` or `.` is left out: Iceberg writes no
    such files, and others hide theirs so.

    Args:
        access: Opens them.
        table: The table.
        before: With its zone.
        shared: Whether another table may be in the directory.

    Raises:
        TaskFailed: There is another table, whose files would be taken for orphans.
        StorageError: They cannot be listed.
    """
    store, key = access.open(table.location)
    root = f"{key}/"
    found = []
    try:
        async for batch in obstore.list(store, root, chunk_size=_LISTED, return_arrow=True):
            listed = pa.record_batch(batch)
            paths = pc.utf8_slice_codeunits(listed["path"], len(root))
            if not shared:
                _refuse_others(paths, table)
            old = pc.and_(
                pc.less(listed["last_modified"], pa.scalar(before, pa.timestamp("us", "UTC"))),
                pc.invert(pc.match_substring_regex(paths, _HIDDEN)),
            )
            located = pc.binary_join_element_wise(f"{table.location}/", paths, "")
            sizes = listed["size"].cast(pa.int64())
            found.append(pa.record_batch([located, sizes], schema=FILES).filter(old))
    except obstore.exceptions.BaseError as error:
        raise StorageError("the table's directory cannot be listed", detail=reason_of(error)) from error
    return pa.Table.from_batches(found, FILES)


def _refuse_others(paths: pa.StringArray, table: Table) -> None:
    delta = paths.filter(pc.match_substring_regex(paths, _DELTA))
    metadata = paths.filter(pc.match_substring_regex(paths, _METADATA)).to_pylist()
    own = str(table.metadata_location).rpartition("/")[0]
    others = [path for path in metadata if f"{table.location}/{path}".rpartition("/")[0] != own]
    for other in (*delta.to_pylist(), *others):
        raise TaskFailed(
            f"another table is in the table's directory, and its files would be taken for orphans: it "
            f"has '{other}'; the property 'force' deletes them none the less",
            error_code="INVALID_PAYLOAD",
        )
