"""Checks the files that a table names before Spark opens them.

The check runs only for realms with explicit locations. It doesn't cover files that a writer adds to
the table later.
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
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.granted_locations import GrantedLocations

if TYPE_CHECKING:
    from sluicegate_spark.engine import TaskSession
    from sluicegate_spark.tables import TableAccess

# Paths that might lead out of the directory that they are relative to. `%` can hide a '..'.
_LEADS_ELSEWHERE = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|\.\.|%|\\"
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:")
_ENCODED_UUID = 20  # characters of a UUID in Z85


async def check_iceberg_files(access: TableAccess, session: TaskSession) -> None:
    """Ensure that all files of an Iceberg table, and its write locations, are granted."""
    from sluicegate_spark.purge.history import read_history
    from sluicegate_spark.purge.table_files import TableFiles
    from sluicegate_spark.purge.waves import Waves

    if not access.granted.is_limited:
        return
    location = access.table.metadata_location
    history = None if location is None else await read_history(await access.objects(), location)
    if history is None:
        raise TaskFailed(
            "the table's current metadata file is missing, so its files cannot be checked "
            "against the grant of the task's realm",
            error_code="STORAGE_FAILED",
            retryable=True,  # another writer might have replaced the file
        )
    access.granted.check((*history.files, *history.write_paths))
    async with Waves.within(session, access) as waves:
        await TableFiles(waves, history, skip_missing=True).check()


async def check_delta_files(access: TableAccess) -> None:
    """Ensure that all files in the log of a Delta table are granted."""
    if not access.granted.is_limited or await access.credentials_of_task() is None:
        return
    found = await delta_snapshot(await access.objects(), access.table.location)
    if found is not None:
        await check_file_set(access.granted, found.files, access.table.location)


async def check_file_set(granted: GrantedLocations, files: FileSet, location: str) -> None:
    """Ensure that files and their deletion vectors are granted."""
    if granted.is_limited:
        await anyio.to_thread.run_sync(partial(check_files, granted, files, location))


def check_files(granted: GrantedLocations, files: FileSet, location: str) -> None:
    """Ensure that files are granted; see `check_file_set`. Blocks until all of them are compared."""
    table = files.table.select(["path", "deletion_vector"])
    live = table if files.live is None else table.filter(files.live)
    paths, vectors = live.columns
    for path in (*_leading_elsewhere(paths), *_leading_elsewhere(_vector_files(vectors))):
        granted.check([_location_of(path, location)])


def ungranted_locations(
    granted: GrantedLocations, paths: pa.StringArray, vectors: pa.StructArray, location: str
) -> pa.StringArray:
    """Return the location of each file, or of its deletion vector, that is not granted; else null."""
    kinds, files = (pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv"))
    absolute = pc.equal(kinds, "p").fill_null(False)
    elsewhere = pc.match_substring_regex(paths, _LEADS_ELSEWHERE)
    found: list[str | None] = [None] * len(paths)
    for suspicious, values in ((elsewhere, paths), (absolute, files)):
        for row in pc.indices_nonzero(suspicious).to_pylist():
            place = _location_of(values[row].as_py(), location)
            if not granted.allows(place):
                found[row] = place
    return pa.array(found, pa.string())


def _location_of(path: str, location: str) -> str:
    return path if _ABSOLUTE.match(path) else f"{location}/{path}"


def _leading_elsewhere(paths: pa.ChunkedArray) -> list[str]:
    found: list[str] = paths.filter(pc.match_substring_regex(paths, _LEADS_ELSEWHERE)).to_pylist()
    return found


def _vector_files(vectors: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return absolute locations of vector files, and the directories of relative ones.

    A relative vector is a directory and an encoded UUID, whose characters may look like a scheme or a
    parent directory (Delta protocol, "Deletion Vector Descriptor Schema").
    """
    kinds = pc.struct_field(vectors, "storageType")
    paths = pc.struct_field(vectors, "pathOrInlineDv")
    directories = pc.utf8_slice_codeunits(paths, 0, -_ENCODED_UUID)
    return pa.chunked_array(
        [
            *paths.filter(pc.equal(kinds, "p")).chunks,
            *directories.filter(pc.equal(kinds, "u")).chunks,
        ],
        pa.string(),
    )
