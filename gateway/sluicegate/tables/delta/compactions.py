"""Log compactions, which replace ranges of commits (Delta protocol, "Log Compaction Files").

A compaction contains each file once, reconciled. If one names a file twice, it is unclear which of the
two actions came last. In that case, or if the compaction is damaged, its commits are read instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

import anyio

from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.log_files.actions import Actions, as_files
from sluicegate.tables.delta.log_files.commits import read_actions
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.segment import LogListing
from sluicegate.tables.delta.log_files.store import LogStore
from sluicegate.tables.delta.replay import repeats_a_file

_T = TypeVar("_T")

_PARALLEL = 16


async def read_deltas(
    listing: LogListing, files: Sequence[LogFile], read: Callable[[LogFile], Awaitable[_T]]
) -> list[_T]:
    """Read commits and compactions in their order.

    Returns:
        One value for each file, or for each commit of a compaction that cannot be used.
    """

    async def read_one(file: LogFile) -> list[_T]:
        try:
            return [await read(file)]
        except TableTooLarge:
            raise
        except TableUnreadable:
            commits = listing.commits_of(file)
            if file.kind != "compaction" or commits is None:
                raise
        return await gather([partial(read, commit) for commit in commits], _PARALLEL)

    return list(chain(*await gather([partial(read_one, file) for file in files], _PARALLEL)))


async def read_delta(store: LogStore, file: LogFile, root: str) -> Actions:
    """Read a commit, or a compaction that can be used instead of its commits."""
    actions = await read_actions(store, file, root)
    if file.kind == "compaction":
        await anyio.to_thread.run_sync(check_compaction, actions, f"the Delta log's {file.name}")
    return actions


def check_compaction(compaction: Actions, source: str) -> None:
    """Reject a compaction that cannot replace its commits."""
    as_files(compaction.adds, source)
    if compaction.removes.column("path").null_count:
        raise TableUnreadable(f"{source} removes a file without a path")
    if compaction.repeats or repeats_a_file(compaction):
        raise TableUnreadable(
            f"{source} names a file twice, or has two protocol or metadata actions, so it is unclear "
            "which of them counts, and the commits that it replaces no longer exist"
        )
