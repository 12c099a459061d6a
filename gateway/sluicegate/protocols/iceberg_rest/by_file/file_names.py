"""Finds the names of columns in data files that have no field ids.

A log does not say which names its files have: columns can be dropped before the log is cleaned up, and
files that a table was created from can have other columns, or write names in another case. Only the
files say it, in their footers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import LRU
from sluicegate.api import Budget, ObjectDirectory, UnsupportedOperation
from sluicegate.api.errors import ObjectMissing, StorageError, TableUnreadable
from sluicegate.api.models import join_location
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.table_files import TableFiles, is_beyond_the_end
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.iceberg.file_names import Names, names_without_ids
from sluicegate.tables.iceberg.shape import fields_of
from sluicegate.tables.parquet.batches import check_parquet_footer
from sluicegate.tables.parquet.footer import LONGEST_FOOTER
from sluicegate.tables.reading.store_errors import store_errors
from sluicegate.tables.snapshot import FileSet
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.telemetry import span

_FILES = 16
_FILES_OF_DROPPED = 64  # if ids of columns are missing in the schema
_REQUESTS = 8  # concurrent ones
_TAIL = 16 << 10  # bytes; most footers fit
_END = 8  # bytes of the footer's length, and of the marker after it
_KEPT = 20_000  # names of fields, about 200 bytes each
_WHAT = "the footer of a data file"


class FileNames:
    """Reads the footers of some files of a view: evenly spread over the times when they were written.

    Files that are written at the same time usually have the same columns.
    """

    def __init__(self, instances: Instances) -> None:
        self._files = TableFiles(instances)
        self._kept: LRU[tuple[str, str, int], Names] = LRU(_KEPT, lambda names: 1 + _count(names))

    async def of(self, view: TableView) -> list[Names]:
        """The distinct sets of names in files without field ids.

        Files that are missing or damaged are skipped: clients that need them get an error.
        """
        if view.snapshot.metadata.field_ids is not None:  # files of an Iceberg table have ids
            return []
        chosen = await anyio.to_thread.run_sync(_chosen, view)
        jobs = [partial(self._names, view.table, path, size) for path, size in chosen]
        distinct: list[Names] = []
        for names in await gather(jobs, _REQUESTS):
            if names and names not in distinct:
                distinct.append(names)
        return distinct

    async def _names(self, table: OpenTable, path: str, size: int) -> Names:
        location = join_location(table.source.location, path)
        key = (table.source.id, location, size)
        names = self._kept.get(key)
        if names is None:
            try:
                names = await self._read(table, location, size)
            except (ObjectMissing, TableUnreadable, UnsupportedOperation):
                return {}
            except StorageError as error:
                if not is_beyond_the_end(error):
                    raise
                return {}
            self._kept.put(key, names)
        return names

    async def _read(self, table: OpenTable, location: str, size: int) -> Names:
        self._files.check(table, [location])
        place = await self._files.opened(table, location)
        tail = await _tail(place, location, size, _TAIL)
        needed = int.from_bytes(tail[-_END:-4], "little") + _END
        if len(tail) < needed <= min(size, LONGEST_FOOTER):
            tail = await _tail(place, location, size, needed)
        budget = table.directory.budget.renewed()
        try:
            return await budget.run(_decoded, tail, budget)
        finally:
            budget.close()


async def _tail(place: tuple[ObjectDirectory, str], location: str, size: int, length: int) -> bytes:
    directory, name = place
    start = max(0, size - length)
    with span("store.get"), store_errors(location, "data"):
        read = await directory.store.get_range_async(directory.key(name), start=start, end=size)
    return bytes(read)


def _decoded(tail: bytes, budget: Budget) -> Names:
    import pyarrow.parquet as pq  # late: only tables without field ids need it

    try:
        check_parquet_footer(tail, _WHAT, budget)
        schema = pq.read_metadata(BytesIO(tail)).schema.to_arrow_schema()
    except (ValueError, IndexError, OSError, pa.ArrowException) as error:
        raise TableUnreadable(f"{_WHAT} is damaged", detail=str(error)) from None
    return names_without_ids(schema)


def _chosen(view: TableView) -> list[tuple[str, int]]:
    """The paths and sizes of the files to read."""
    most = _FILES_OF_DROPPED if _lacks_ids(view) else _FILES
    sets = list(_sets(view))
    return [file for files in sets for file in _spread(files, most // len(sets))]


def _lacks_ids(view: TableView) -> bool:
    """Whether columns were dropped: column mapping has assigned more ids than the schema has."""
    last = view.snapshot.metadata.configuration.get("delta.columnMapping.maxColumnId", "")
    ids = {each.id for each in fields_of(view.shape.schema)}
    return last.isdecimal() and len(last) < 10 and sum(id_ <= int(last) for id_ in ids) < int(last)


def _sets(view: TableView) -> Iterator[FileSet]:
    """The files of the view. Of an index, the first and the last part, and what was added since."""
    files = view.files
    if isinstance(files, FileSet):
        yield files
        return
    from sluicegate.tables.snapshot_index.part_reader import PartReader

    yield files.added
    reader = PartReader(files)
    for number in {*files.parts[:1], *files.parts[-1:]}:
        with suppress(IndexUnusable):  # who needs its files reads them from the log
            yield reader.files(number)


def _spread(files: FileSet, most: int) -> list[tuple[str, int]]:
    table = files.table.select(["path", "size", "modification_time"])
    if files.live is not None:
        table = table.filter(files.live)
    table = table.filter(pc.greater(table.column("size"), _END))
    order = pc.sort_indices(table, [("modification_time", "ascending"), ("path", "ascending")])
    last = len(order) - 1
    places = {round(place * last / (most - 1)) for place in range(most)} if last >= 0 else ()
    chosen = table.take(order.take(pa.array(sorted(places), pa.int64())))
    return list(zip(*(chosen.column(name).to_pylist() for name in ("path", "size")), strict=True))


def _count(names: Names) -> int:
    return sum(1 + _count(inner) for inner in names.values())
