"""Plans scans: from a request and a view to a response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import orjson
import pyarrow as pa

from sluicegate._util.limited_threads import LimitedThreads
from sluicegate.api.errors import UnsupportedOperation
from sluicegate.audit.trail import note_issued
from sluicegate.protocols.common.shared_scope import check_history, check_version, shared_partitions
from sluicegate.protocols.iceberg_rest.errors import NoSuchPlanId, NoSuchPlanTask
from sluicegate.protocols.iceberg_rest.fair_limiter import FairLimiter
from sluicegate.protocols.iceberg_rest.planning.candidates import (
    EVERYTHING,
    PlanPage,
    candidates,
    on_page,
    page_size,
    pages,
    without_others,
)
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.expressions.decisions import compared_literals
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import TaskEncoder, VectorBlobs
from sluicegate.protocols.iceberg_rest.planning.selection import TaskSelection, select
from sluicegate.protocols.iceberg_rest.planning.statistics import Statistics
from sluicegate.protocols.iceberg_rest.planning.tokens import PinnedPlan, PlanTokens
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.tables.changes import Changes
from sluicegate.tables.partitions import partition_mask
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FILE_SCHEMA, FileChunk, FileSet
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable
from sluicegate.telemetry import span

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles

_ADD = "add"


async def appended_files(reader: TableReader, view: TableView, start_version: int) -> FileSet:
    """The files that were appended after a version, and that the recipient can see."""
    shared, end = view.table.shared, view.snapshot.version
    check_history(shared, "start-snapshot-id")
    check_version(shared, start_version)
    if start_version == end:
        return FileSet.of(())
    latest = view.in_memory().snapshot
    changes = await reader.changes(
        view.table.source, view.table.directory, latest, start_version + 1, end
    )
    _check_partitioning(view, changes)
    wanted = shared_partitions(shared, view.table.principal, view.snapshot.metadata)
    chunks = []
    async for commit, actions in changes.files("data", start_version + 1):
        if wanted is not None:
            actions = actions.filter(partition_mask(actions.column("partition_values"), wanted))
        kinds = actions.column("kind")
        if any(kind != _ADD for kind in kinds.unique().to_pylist()):
            raise _not_appended(commit.version, "changed or removed rows")
        chunks.append(FileChunk.of(_as_files(actions)))
    return FileSet.of(chunks)


def _check_partitioning(view: TableView, changes: Changes) -> None:
    columns = view.snapshot.metadata.partition_columns
    for state in changes.states():
        if state.metadata.partition_columns != columns:
            raise _not_appended(state.version, "has other partition columns")


def _as_files(actions: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [actions.column(name) for name in FILE_SCHEMA.names], schema=FILE_SCHEMA
    )


def _not_appended(version: int, reason: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"an incremental scan reads appended rows only, and snapshot {snapshot_id(version)} {reason}: "
        "use a later start-snapshot-id, or read the snapshots"
    )


# Selecting takes a few hundred bytes for each file of the table, and threads delay the event loop.
_AT_ONCE = 4
_AT_ONCE_FOR_ONE = 2
_TIMEOUT = 60.0  # seconds; selecting takes a few seconds at most
_THREADS = 2  # for statistics and tokens
_REFUSAL = "too many scans are being planned; try again later"
# Above this size of all tokens together, a page names only the next one.
_TOKENS_BYTES = 1 << 20
_TOKEN_BYTES = 500


class ScanPlanner:
    """Plans scans of views. Responses are complete: no plan is continued in the background."""

    def __init__(
        self, reader: TableReader, tokens: PlanTokens, blobs: Mapping[Dialect, VectorBlobs]
    ) -> None:
        self._reader = reader
        self._tokens = tokens
        self._blobs = blobs
        self._threads = LimitedThreads(_THREADS)
        self._turns = FairLimiter(_AT_ONCE, _AT_ONCE_FOR_ONE, _TIMEOUT, _REFUSAL)

    async def plan(self, view: TableView, request: PlanRequest) -> AsyncIterator[bytes]:
        """A CompletedPlanningResult, in parts. Errors are raised before the first part."""
        plan_id = await self._threads.run_sized(
            len(request.source), self._tokens.plan_id, view, request
        )
        head = b'{"status":"completed","plan-id":%b,"file-scan-tasks":[' % orjson.dumps(plan_id)
        return await self._page(view, request, EVERYTHING, head)

    async def plan_again(self, view: TableView, pinned: PinnedPlan) -> AsyncIterator[bytes]:
        """The result of a plan by its id; raises as `plan` does."""
        if not pinned.belongs_to(view):
            raise NoSuchPlanId("plan-id: the table was replaced since it was planned: plan again")
        return await self.plan(view, pinned.request)

    async def tasks(self, view: TableView, task: PinnedPlan) -> AsyncIterator[bytes]:
        """A FetchScanTasksResult, in parts; raises as `plan` does."""
        if not task.belongs_to(view):
            raise NoSuchPlanTask("plan-task: the table was replaced since it was planned: plan again")
        return await self._page(view, task.request, task.page, b'{"file-scan-tasks":[')

    async def _page(
        self, view: TableView, request: PlanRequest, page: PlanPage, head: bytes
    ) -> AsyncIterator[bytes]:
        with span("plan"):
            files: FileSet | IndexedFiles = view.files
            if request.start_version is not None:
                files = await appended_files(self._reader, view, request.start_version)
            selection, rest = await self._select(view, files, request, page)
            blobs = self._blobs.get(request.dialect)
            if view.indexed and blobs is not None and blobs.need_all(selection.files):
                raise IndexUnsuitable("deletion vectors are in generated files")
            statistics = None
            if request.stats_fields:  # of a wide table, they take too long for the event loop
                statistics = await self._threads.run(_statistics, view, request)
            partitions = await self._partitions(view, request)
        # `min-rows-requested` can end the page earlier.
        most = len(selection.files)
        note_issued("file paths", version=view.snapshot.version, most_files=most)
        kept = self._reader.encoded if request.min_rows is None else None
        encoder = TaskEncoder(view, selection, statistics, blobs, partitions, self._threads, kept)
        parts = self._parts(view, request, selection, encoder, rest)
        first = await anext(parts)
        return _joined(head, first, parts)

    async def _select(
        self, view: TableView, files: FileSet | IndexedFiles, request: PlanRequest, page: PlanPage
    ) -> tuple[TaskSelection, list[PlanPage]]:
        """The files of the first page of a range, and the other pages."""
        everything = request.filter is True and page == EVERYTHING
        if everything and isinstance(files, FileSet) and len(files) <= page_size(0):
            return TaskSelection(files, {}), []
        async with self._turns.hold(view.table.principal.id):
            return await anyio.to_thread.run_sync(_select_page, view, files, request, page)

    async def _partitions(self, view: TableView, request: PlanRequest) -> PartitionReader:
        if request.dialect is not Dialect.PYICEBERG or request.filter is True:
            return PartitionReader(view.shape, request.dialect)
        return await self._threads.run(_partitions_for_pyiceberg, view, request)

    async def _parts(
        self,
        view: TableView,
        request: PlanRequest,
        selection: TaskSelection,
        encoder: TaskEncoder,
        rest: list[PlanPage],
    ) -> AsyncIterator[bytes]:
        """The tasks, and what follows them, which is the last part."""
        left, separator = request.min_rows, b""
        for block in selection.files.blocks(encoder.batch_files):
            encoded = await encoder.encode(block)
            yield separator + encoded.tasks
            separator = b","
            left = None if left is None else left - encoded.rows
            if left is not None and left <= 0:
                rest = []
                break
            await anyio.lowlevel.checkpoint()  # a long plan must not starve short requests
        named = _named(request, rest)
        size = len(named) * len(request.source)
        tokens = await self._threads.run_sized(size, self._plan_tasks, view, request, named)
        yield b'],"delete-files":[%b],"plan-tasks":%b}' % (
            b",".join(encoder.delete_files),
            orjson.dumps(tokens),
        )

    def _plan_tasks(self, view: TableView, request: PlanRequest, named: list[PlanPage]) -> list[str]:
        return [self._tokens.plan_task(view, request, page) for page in named]


async def _joined(head: bytes, first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head + first
    async for part in parts:
        yield part


def _statistics(view: TableView, request: PlanRequest) -> Statistics:
    columns = Columns(view.shape, case_sensitive=request.case_sensitive)
    return Statistics(view.snapshot.metadata, columns, request.stats_fields)


def _partitions_for_pyiceberg(view: TableView, request: PlanRequest) -> PartitionReader:
    columns = Columns(view.shape, case_sensitive=request.case_sensitive)
    return PartitionReader(view.shape, request.dialect, compared_literals(request.filter, columns))


def _select_page(
    view: TableView, files: FileSet | IndexedFiles, request: PlanRequest, page: PlanPage
) -> tuple[TaskSelection, list[PlanPage]]:
    selection = select(view, candidates(files, view.snapshot.metadata, page), request)
    first, *rest = pages(selection.files, page, page_size(selection.longest))
    chosen = on_page(selection.files, first)
    if not isinstance(files, FileSet):
        chosen = without_others(chosen)
    return selection.only(chosen), rest


def _named(request: PlanRequest, rest: list[PlanPage]) -> list[PlanPage]:
    """The pages to name: all of them, or all as one that is split later."""
    if len(rest) * (_TOKEN_BYTES + 2 * len(request.source)) <= _TOKENS_BYTES or not rest:
        return rest
    return [PlanPage(rest[0].after, rest[-1].until)]
