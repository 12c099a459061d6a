"""Writes a chain to files, on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from sluicegate.api.errors import ConfigurationError, Unavailable
from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.own_records import LogEntry
from sluicegate.audit.sinks.files.chain_files import ChainFiles
from sluicegate.audit.sinks.files.directory import slots
from sluicegate.audit.sinks.files.head_file import HeadFile
from sluicegate.config.sections.audit import FileSinkSettings

# Seconds that a write can take.
_TIMEOUT = 10.0
_MOST_CHAINS = 1000
# Only entire files are deleted, so that records are stored for up to a tenth longer than configured.
_FILES_IN_RETENTION = 10
_T = TypeVar("_T")


class FileSink:
    """Writes to the files of one chain in a directory."""

    def __init__(
        self,
        chain: ChainFiles,
        directory: Path,
        keys: ChainKeys,
        settings: FileSinkSettings,
        retention: int,
    ) -> None:
        self.name = "file"
        self._chain = chain
        self._directory = directory
        self._keys = keys
        self._max_size = settings.max_size
        self._keep = settings.keep
        self._max_age = retention // _FILES_IN_RETENTION
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit-log")

    @classmethod
    def open(cls, settings: FileSinkSettings, keys: ChainKeys, retention: int) -> FileSink:
        """Create the directory, and open the first chain that no other writer uses."""
        directory = Path(settings.path)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for slot in range(_MOST_CHAINS):
                chain = open_chain(directory, slot, keys)
                if chain is not None:
                    return cls(chain, directory, keys, settings, retention)
        except OSError as error:
            raise ConfigurationError(
                f"the audit log can't be written to {directory}: {error.strerror}; create the "
                "directory for the gateway's user, or change audit.sinks"
            ) from error
        raise ConfigurationError(
            f"{_MOST_CHAINS} processes write to {directory}; use another directory"
        )

    async def append(self, entries: Sequence[LogEntry]) -> None:
        """Add records to the files."""
        await self._run(partial(self._append, entries))

    async def delete_before(self, oldest: int) -> None:
        """Delete files with only records from before `oldest`, epoch milliseconds."""
        await self._run(self._start_another_if_old)
        # Files are read on another thread, because requests wait for the one that writes.
        expired = await self._aside(partial(self._chain.expired, oldest))
        if expired is not None:
            deleting = partial(self._chain.delete_expired, expired, oldest, max_size=self._max_size)
            await self._run(deleting)
        await self._aside(partial(self._delete_from_unused, oldest))

    async def seal_others(self) -> None:
        """Do nothing: chains in files are independent."""

    async def index_records(self) -> bool:
        """Files have no index."""
        return False

    async def aclose(self) -> None:
        """Close the files."""
        try:
            await self._run(self._chain.close)
        finally:
            self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], None]) -> None:
        """Run work on the thread. After a timeout, what has not begun is never run."""
        begun = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            # Not `wait_for`: before Python 3.12, it can swallow a cancellation.
            async with asyncio.timeout(_TIMEOUT):
                await begun
        except TimeoutError:
            reason = f"no response within {_TIMEOUT:g} seconds"
        except OSError as error:
            reason = error.strerror or type(error).__name__
        else:
            return
        raise self._unavailable(reason)

    async def _aside(self, work: Callable[[], _T]) -> _T:
        """Run work that no request waits for on another thread."""
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise self._unavailable(error.strerror or type(error).__name__) from error

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(
            "a file of the audit log can't be written; try again later",
            detail=f"{self._directory}: {reason}",
        )

    def _append(self, entries: Sequence[LogEntry]) -> None:
        self._chain.append(entries, max_size=self._max_size)
        self._chain.delete_excess(self._keep, max_size=self._max_size)

    def _start_another_if_old(self) -> None:
        self._chain.start_segment_after(self._max_age)

    def _delete_from_unused(self, oldest: int) -> None:
        """Delete old files of processes that have ended."""
        for slot in slots(self._directory):
            unused = open_chain(self._directory, slot, self._keys)
            if unused is not None:
                try:
                    expired = unused.expired(oldest)
                    if expired is not None:
                        unused.delete_expired(expired, oldest, max_size=self._max_size)
                finally:
                    unused.close()


def open_chain(directory: Path, slot: int, keys: ChainKeys) -> ChainFiles | None:
    """Open a chain, unless another writer uses it."""
    head_file = HeadFile.lock(directory, slot, keys)
    if head_file is None:
        return None
    try:
        return ChainFiles(directory, slot, head_file, keys)
    except BaseException:
        head_file.close()
        raise
