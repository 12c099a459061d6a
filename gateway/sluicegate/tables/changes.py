"""Changes in a range of versions: protocol, metadata, and file actions as Arrow columns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import pyarrow as pa

from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata, TableProtocol

_WINDOW = 32  # commits that are read concurrently, and are in memory in addition to the cache

CHANGE_SCHEMA = pa.schema(
    [
        *(column.with_nullable(column.name != "path") for column in FILE_SCHEMA),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
    ]
)
"""The columns of the files of a commit.

The columns of `FILE_SCHEMA`, null if the log lacks a value (removes of old tables), and `kind`: `add`,
`remove` or `cdc` (a file of changed rows).
"""

What = Literal["data", "feed"]


@dataclass(frozen=True, slots=True)
class TableState:
    """Protocol and metadata that are in force from a version on."""

    version: int
    protocol: TableProtocol
    metadata: TableMetadata

    def after(self, commit: Commit) -> TableState:
        """The state that is in force from a later commit on."""
        return TableState(
            commit.version, commit.protocol or self.protocol, commit.metadata or self.metadata
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """The content of one version apart from its files.

    Attributes:
        timestamp: Epoch milliseconds.
        protocol: The new protocol, if the version changed it.
        metadata: The new metadata, if the version changed it.
        vectors: Whether files of `data` have deletion vectors, and whether files of `feed` have.
        incomplete: Whether the size or the partition values of removed files are unknown, for `data`
            and for `feed`.
    """

    version: int
    timestamp: int
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    vectors: frozenset[What] = frozenset()
    incomplete: frozenset[What] = frozenset()


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """The file actions of one version, rows of `CHANGE_SCHEMA` in the order of the log.

    Actions on one path are grouped at the position of the first of them.

    Attributes:
        data: Adds and removes that changed rows, without those that only rearranged them.
        feed: The version's change data feed (Delta protocol, "Change Data Files"): its `cdc` files if
            it has any, else the same adds and removes.
    """

    data: pa.RecordBatch
    feed: pa.RecordBatch

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns hold."""
        shared = self.feed is self.data
        return int(self.data.nbytes) + (0 if shared else int(self.feed.nbytes))

    def of(self, what: What) -> pa.RecordBatch:
        """The file actions of `data` or of `feed`."""
        return self.data if what == "data" else self.feed


@dataclass(frozen=True, slots=True)
class Changes:
    """The commits of a range of versions. Their files are read when they are needed.

    Attributes:
        start: Protocol and metadata of the first version.
        commits: All versions, ascending.
        read: Reads the files of some of the commits. Raises `Unavailable` if they no longer exist.
    """

    start: TableState
    commits: tuple[Commit, ...]
    read: Callable[[Sequence[Commit]], Awaitable[Sequence[CommitFiles]]] = field(repr=False)

    def states(self) -> Iterator[TableState]:
        """The state at the start, and one for each version that changes it."""
        state = self.start
        yield state
        for commit in self.commits[1:]:
            if commit.protocol or commit.metadata:
                state = state.after(commit)
                yield state

    def vectors(self, what: What) -> bool:
        """Whether any file has a deletion vector."""
        return any(what in commit.vectors for commit in self.commits)

    def incomplete(self, what: What) -> int | None:
        """The last version with a removed file whose size or partition values are unknown."""
        versions = (commit.version for commit in self.commits if what in commit.incomplete)
        return max(versions, default=None)

    async def files(self, what: What, since: int) -> AsyncIterator[tuple[Commit, pa.RecordBatch]]:
        """Commits from a version on, each with its file actions."""
        commits = [commit for commit in self.commits if commit.version >= since]
        for first, end in pairwise([*range(0, len(commits), _WINDOW), len(commits)]):
            window = commits[first:end]
            for commit, files in zip(window, await self.read(window), strict=True):
                yield commit, files.of(what)
