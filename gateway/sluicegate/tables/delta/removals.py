"""Finds and caches the values that the removes of some commits lack: see `added_files`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio
import pyarrow as pa

from sluicegate.tables.delta.history import History
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.log_files.added_files import AddedFiles, removed_without_values
from sluicegate.tables.delta.log_files.names import LogFile

_WINDOW = 32  # commits whose files are in memory at the same time


class Removals:
    """Finds the adds of files that commits remove."""

    def __init__(self, log: DeltaLog, history: History) -> None:
        self._log = log
        self._history = history

    async def added(self, commits: Sequence[LogFile]) -> dict[int, AddedFiles]:
        """By version: the adds of the files whose removes lack values.

        Files that the log no longer contains are missing.
        """
        found = {file.version: self._history.known_added(file) for file in commits}
        unknown = [file for file in commits if found[file.version] is None]
        if unknown:
            searched = await self._search(await self._removed(unknown))
            for file in unknown:
                found[file.version] = searched[file.version]
                self._history.keep_added(file, searched[file.version])
        return {version: added for version, added in found.items() if added is not None}

    async def _removed(self, commits: Sequence[LogFile]) -> dict[int, pa.Array]:
        """By version: the paths of removes that lack values."""
        removed: dict[int, pa.Array] = {}
        for start in range(0, len(commits), _WINDOW):
            window = commits[start : start + _WINDOW]
            for file, files in zip(window, await self._history.files(window), strict=True):
                removed[file.version] = removed_without_values(files.data)
        return removed

    async def _search(self, removed: Mapping[int, pa.Array]) -> dict[int, AddedFiles]:
        """The newest add before each remove, starting at the version before the first remove."""
        listing = await self._log.listing()
        paths = pa.chunked_array(removed.values(), pa.string()).unique()
        first, last = min(removed), max(removed)
        parts: list[AddedFiles] = []
        if first and next(listing.segments(first - 1), None) is not None:
            snapshot = await self._log.load(listing, first - 1)
            parts.append(await anyio.to_thread.run_sync(AddedFiles.live, snapshot.files, paths))
        found: dict[int, AddedFiles] = {}
        for version in range(first, last + 1):
            if version in removed:
                select = AddedFiles.joined(parts).with_paths
                found[version] = await anyio.to_thread.run_sync(select, removed[version])
            actions = await self._log.commit(listing.commits[version])
            parts.append(await anyio.to_thread.run_sync(AddedFiles.of, actions.adds, paths))
        return found
