"""Checks the files that a table names, before Spark opens them on its own.

Only for realms with explicit locations. What a writer adds to the table after the check is not seen.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import TaskFailed
from sluicegate.formats import FileSet
from sluicegate_spark.granted import GrantedLocations

if TYPE_CHECKING:
    from sluicegate_spark.engine import TaskSession
    from sluicegate_spark.tables import TableAccess

# Paths that can lead out of the directory that they are relative to; `%` may hide a '..'.
_LEADS_ELSEWHERE = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|\.\.|%|\\"
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:")
_VECTOR_FILES = ["p", "u"]


async def check_iceberg_files(access: TableAccess, session: TaskSession) -> None:
    """Make sure that all files of an Iceberg table are granted, and where new ones are written.

    Raises:
        TaskFailed: Some are not (`NOT_GRANTED`), or nobody can tell which files the table has.
    """
    from sluicegate_spark.purge.history import read_history
    from sluicegate_spark.purge.listing import Files
    from sluicegate_spark.purge.waves import Waves

    if not access.granted.is_limited:
        return
    location = access.table.metadata_location
    history = None if location is None else await read_history(await access.objects(), location)
    if history is None:
        raise TaskFailed(
            "the table's current metadata file is missing, so that its files cannot be checked "
            "against the grant of the task's realm",
            error_code="STORAGE_FAILED",
            retryable=True,  # another writer may have replaced it
        )
    access.granted.check((*history.files, *history.write_paths))
    async with Waves.within(session, access) as waves:
        await Files(waves, history, skip_missing=True).check()


async def check_delta_files(access: TableAccess) -> None:
    """Make sure that all files in the log of a Delta table are granted.

    Raises:
        TaskFailed: Some are not (`NOT_GRANTED`).
    """
    from sluicegate_spark.conversion.reading import delta_snapshot

    if not access.granted.is_limited or await access.handed_over() is None:
        return
    found = await delta_snapshot(await access.objects(), access.table.location)
    if found is not None:
        await check_file_set(access.granted, found.files, access.table.location)


async def check_file_set(granted: GrantedLocations, files: FileSet, location: str) -> None:
    """Make sure that files and their deletion vectors are granted.

    Args:
        granted: To the task.
        files: Their paths are relative to `location` or absolute.
        location: The table's directory.

    Raises:
        TaskFailed: Some are not (`NOT_GRANTED`).
    """
    if granted.is_limited:
        await anyio.to_thread.run_sync(partial(_check, granted, files, location))


def _check(granted: GrantedLocations, files: FileSet, location: str) -> None:
    table = files.table.select(["path", "deletion_vector"])
    live = table if files.live is None else table.filter(files.live)
    paths, vectors = live.columns
    for path in (*_leading_elsewhere(paths), *_leading_elsewhere(_vector_files(vectors))):
        granted.check([path if _ABSOLUTE.match(path) else f"{location}/{path}"])


def _leading_elsewhere(paths: pa.ChunkedArray) -> list[str]:
    found: list[str] = paths.filter(pc.match_substring_regex(paths, _LEADS_ELSEWHERE)).to_pylist()
    return found


def _vector_files(vectors: pa.ChunkedArray) -> pa.ChunkedArray:
    """Files of vectors: absolute, or a directory and a UUID (Delta protocol, "Deletion Vectors")."""
    in_files = pc.is_in(pc.struct_field(vectors, "storageType"), pa.array(_VECTOR_FILES))
    return pc.struct_field(vectors.filter(in_files), "pathOrInlineDv")
