"""Lists files in a table's directory that might be orphans."""

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

_LISTED: Final = 10_000  # files per batch
_HIDDEN: Final = r"(^|/)[_.]"
_DELTA: Final = r"(^|/)_delta_log/"
_METADATA: Final = r"(^|/)[^/]*\.metadata\.json$"


async def old_files(access: ObjectAccess, table: Table, before: datetime, *, shared: bool) -> pa.Table:
    """Return files in a table's directory that were last modified before a time, as `FILES`.

    Names and directories that begin with `_` or `.` are skipped: Iceberg doesn't write such files,
    and other tools use these names to hide files.

    Args:
        access: Opens the files.
        table: The table.
        before: A time with a time zone.
        shared: Whether the directory is allowed to contain another table.

    Raises:
        TaskFailed: The directory contains another table, whose files would be taken for orphans.
        StorageError: The files can't be listed.
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
            "another table is in the table's directory, and its files would be taken for "
            f"orphans: it has '{other}'; to delete them anyway, set the property 'force'",
            error_code="INVALID_PAYLOAD",
        )
