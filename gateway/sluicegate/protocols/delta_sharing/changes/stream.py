"""The body of a stream or change feed: one commit after the other, until the page is full."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import Presigned
from sluicegate.protocols.columns import integers, texts
from sluicegate.protocols.delta_sharing.changes import stream as change_lines
from sluicegate.protocols.delta_sharing.changes.version_range import Position
from sluicegate.protocols.delta_sharing.changes.view import ChangeView
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding.file_ids import file_ids
from sluicegate.protocols.delta_sharing.encoding.ndjson import (
    VersionStamp,
    escape,
    expiration,
    optional,
    travelled,
)
from sluicegate.protocols.delta_sharing.query.selection import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.protocols.presigning.signer import Offered, Signer
from sluicegate.tables.changes import CHANGE_SCHEMA, Commit
from sluicegate.tables.partitions import PartitionValues, answered_partitions, partition_mask


@dataclass(frozen=True, slots=True)
class SharedRows:
    """File actions of one commit that a recipient can see.

    Attributes:
        first: Number of shared file actions of the commit before these. Hidden ones do not count,
            because page tokens contain this number and recipients can read them.
    """

    files: pa.RecordBatch
    first: int

    @classmethod
    def of(
        cls, files: pa.RecordBatch, shared: Callable[[PartitionValues], bool] | None, first: int
    ) -> SharedRows:
        """The rows of the shared partitions, without the first ones of them."""
        if shared is not None:
            kept = pc.indices_nonzero(partition_mask(files.column("partition_values"), shared))
            files = files.take(kept)
        return cls(files.slice(first), first)

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.files.num_rows)

    def behind(self, count: int) -> SharedRows:
        """The same without the first rows."""
        return SharedRows(self.files.slice(count), self.first + count)

    def together(self, wanted: int) -> int:
        """How many rows to take if `wanted` are requested, so that rows of one path stay together.

        The result is less than `wanted`, or all rows of the first path if these are more.
        """
        if wanted >= len(self):
            return len(self)
        paths = self.files.column("path")
        cut = wanted
        while cut and paths[cut - 1] == paths[cut]:
            cut -= 1
        if cut:
            return cut
        cut = wanted
        while cut < len(self) and paths[cut] == paths[0]:
            cut += 1
        return cut


class RowGroup:
    """Rows of several commits that are signed and encoded together."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._batches: list[pa.RecordBatch] = []
        self.at: list[str] = []

    @property
    def room(self) -> int:
        """How many more rows fit."""
        return self._size - len(self.at)

    def add(self, commit: Commit, rows: pa.RecordBatch) -> None:
        """Append rows of a commit."""
        self._batches.append(rows)
        self.at += [travelled(VersionStamp(commit.version, commit.timestamp))] * rows.num_rows

    def table(self) -> pa.Table:
        """All rows of `CHANGE_SCHEMA`, in one chunk."""
        return pa.Table.from_batches(self._batches, schema=CHANGE_SCHEMA).combine_chunks()


_PARQUET_NAMES = {"add": "add", "remove": "remove", "cdc": "cdf"}
_MOMENTS = {"add": ',"modificationTime":', "remove": ',"deletionTimestamp":'}


def parquet(
    rows: pa.Table,
    presigned: Presigned,
    at: Sequence[str],
    hash_name: str = "md5",
    *,
    partitioned: bool,
) -> bytes:
    """One line per file: `add`, `remove` or `cdf` ("Data Change Files")."""
    tail = expiration(presigned) + "}}\n"
    kinds = texts(rows.column("kind"))
    members = zip(
        kinds,
        escape(presigned.urls),
        file_ids(rows, hash_name),
        _partition_values(texts(rows.column("partition_values")), None if partitioned else "{}"),
        _sizes(rows),
        _stats_of_adds(kinds, rows),
        at,
        strict=True,
    )
    return "".join(
        f'{{"{_PARQUET_NAMES[kind]}":{{"url":{url},"id":"{id}"{partition}{size}{stats}{when}{tail}'
        for kind, url, id, partition, size, stats, when in members
    ).encode()


def delta(
    rows: pa.Table,
    presigned: Presigned,
    vectors: Mapping[int, tuple[str, str]],
    at: Sequence[str],
    hash_name: str = "sha256",
) -> bytes:
    """One line per file, which wraps the log's own `add`, `remove` or `cdc` action."""
    tail = expiration(presigned)
    kinds = texts(rows.column("kind"))
    partitions = texts(rows.column("partition_values"))
    sizes = _sizes(rows)
    members = zip(
        kinds,
        escape(presigned.urls),
        file_ids(rows, hash_name),
        _partition_values(partitions, None),
        sizes,
        _moments(kinds, integers(rows.column("modification_time"))),
        _changes(kinds, partitions, sizes),
        optional(texts(rows.column("stats")), "stats"),
        delta_lines.extras(rows),
        *delta_lines.vector_members(rows, vectors),
        at,
        strict=True,
    )
    return "".join(
        f'{{"file":{{"id":"{id}"{vector_id}{when}{tail},"deltaSingleAction":{{"{kind}":{{"path":{url}'
        f"{partition}{size}{moment}{change}{stats}{extra}{vector}}}}}}}}}\n"
        for (
            kind, url, id, partition, size, moment, change, stats, extra, vector, vector_id, when
        ) in members
    ).encode()  # fmt: skip


def _partition_values(values: Iterable[str | None], missing: str | None) -> list[str]:
    """The JSON members with partition values, which are JSON already, or `missing` if they are null."""
    instead = "" if missing is None else f',"partitionValues":{missing}'
    return [instead if text is None else f',"partitionValues":{text}' for text in values]


def _sizes(rows: pa.Table) -> list[str]:
    return ["" if size is None else f',"size":{size}' for size in integers(rows.column("size"))]


def _stats_of_adds(kinds: Sequence[str], rows: pa.Table) -> list[str]:
    members = optional(texts(rows.column("stats")), "stats")
    return [stats if kind == "add" else "" for kind, stats in zip(kinds, members, strict=True)]


def _moments(kinds: Sequence[str], times: Sequence[int | None]) -> list[str]:
    """The JSON members with the time of modification or deletion, which `cdc` files lack.

    Clients require the time of an added file. If the log omits it, it is 0.
    """
    return [
        ""
        if kind not in _MOMENTS or (time is None and kind != "add")
        else f"{_MOMENTS[kind]}{time or 0}"
        for kind, time in zip(kinds, times, strict=True)
    ]


def _changes(kinds: Sequence[str], partitions: Sequence[str | None], sizes: Sequence[str]) -> list[str]:
    """The JSON members `dataChange` and, for removes, `extendedFileMetadata`."""
    plain = {"add": ',"dataChange":true', "remove": ',"dataChange":true', "cdc": ',"dataChange":false'}
    full = ',"dataChange":true,"extendedFileMetadata":true'
    return [
        full if kind == "remove" and partition is not None and size else plain[kind]
        for kind, partition, size in zip(kinds, partitions, sizes, strict=True)
    ]


class ChangeStream:
    """Encodes the lines of one page.

    Attributes:
        rest: Where the next page continues, once `lines` is exhausted. `None` on the last page.
    """

    def __init__(self, view: ChangeView, signer: Signer, position: Position) -> None:
        self.rest: Position | None = None
        self._signer = signer
        self._view = view
        self._urls = Urls(signer, view.table)
        self._position = position
        self._max_files = view.request.max_files
        self._files = 0

    @property
    def expires_at(self) -> int | None:
        """Expiry of the first URL so far, in epoch milliseconds. `None` before any URL."""
        return self._urls.expires_at

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines after the header lines, in parts."""
        view, position, group = self._view, self._position, RowGroup(FIRST_BATCH_ROWS)
        async for commit, files in view.changes.files(view.request.what, since=position.version):
            goes_on = commit.version == position.version
            if not goes_on and (history := view.lines_of(commit)):
                yield await self._encode(group) + history
                group = RowGroup(BATCH_ROWS)
            first = position.index if goes_on else 0
            rows = SharedRows.of(files, view.shared_in(commit.version), first)
            while len(rows):
                count = self._fitting(rows, group.room)
                if not count:
                    self.rest = replace(position, version=commit.version, index=rows.first)
                    yield await self._encode(group)
                    return
                canonical = view.canonical_in(commit.version)
                group.add(commit, canonical.of_changes(rows.files.slice(0, count)))
                rows = rows.behind(count)
                if group.room <= 0:
                    yield await self._encode(group)
                    group = RowGroup(BATCH_ROWS)
                    await anyio.lowlevel.checkpoint()  # a long response must not starve short ones
        yield await self._encode(group)

    def _fitting(self, rows: SharedRows, room: int) -> int:
        """How many of the rows come next. 0 if the page is full.

        The actions on one path are never split across pages, because two pages would give the path two
        URLs. A page can therefore exceed a `maxFiles` of 1.
        """
        left = room if self._max_files is None else self._max_files - self._files
        count = rows.together(max(1, min(room, left)))
        if self._max_files is not None and count > left and self._files:
            return 0
        self._files += count
        return count

    async def _encode(self, group: RowGroup) -> bytes:
        if not group.at:
            return b""
        view = self._view
        rows = answered_partitions(group.table(), view.shown.metadata)
        self._signer.offer(view.table, Offered(rows.num_rows, pc.sum(rows.column("size")).as_py() or 0))
        presigned = await self._urls.of_each(texts(rows.column("path")))
        if view.agreement.response_format == "parquet":
            return change_lines.parquet(
                rows, presigned, group.at, view.hash_name, partitioned=view.partitioned
            )
        vectors = await self._urls.of_vectors(rows.column("deletion_vector"))
        return change_lines.delta(rows, presigned, vectors, group.at, view.hash_name)
