"""Waits until the configuration has to be loaded again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from sluicegate.config import Settings
from sluicegate.server.watched_files import watched_files

FileStamps = Mapping[Path, tuple[int, ...] | None]
"""For each file, a value that changes when the file is written or replaced; `None` if it is missing."""


def file_stamps(files: Iterable[Path]) -> FileStamps:
    """Read the current stamps of files.

    Symbolic links are followed, so a stamp also changes when a link gets another target, as in the
    volumes of Kubernetes.
    """
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


# Seconds between looks at the files. A change counts when two looks find the same, so that a file that
# is being written is not read.
_LOOK_SECONDS = 2.0
# Seconds until another attempt after a failure: its cause can be outside of the watched files, such as
# a database that does not respond.
_RETRY_SECONDS = 30.0


class ConfigurationWatch:
    """Waits for requests to reload and, with `server.reload: on_change`, for changes of files."""

    def __init__(self, settings: Settings, look_seconds: float = _LOOK_SECONDS) -> None:
        self._settings = settings
        self._look_seconds = look_seconds
        self._requested = asyncio.Event()
        self._has_failed = False
        self._seen = self._look()

    def request(self) -> None:
        """Let `wait` return, now or when it is called the next time."""
        self._requested.set()

    async def wait(self) -> None:
        """Return when the configuration has to be loaded."""
        if self._settings.server.reload == "on_change":
            await self._requested_or_changed()
        else:
            await self._requested.wait()
        self._requested.clear()
        # Before the files are read: whatever changes from now on is another change.
        self._seen = await asyncio.to_thread(self._look)

    def applied(self, settings: Settings) -> None:
        """Watch the files of settings that are in use now."""
        self._settings = settings
        self._has_failed = False
        found = self._look()
        self._seen = {file: self._seen.get(file, found[file]) for file in found}

    def failed(self) -> None:
        """Wait only for a limited time, because the last attempt to apply the settings has failed."""
        self._has_failed = True

    async def _requested_or_changed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_RETRY_SECONDS if self._has_failed else None):
                last = self._seen
                while not self._requested.is_set():
                    await self._pause()
                    found = await asyncio.to_thread(self._look)
                    if found != self._seen and found == last:
                        return
                    last = found

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._requested.wait(), self._look_seconds)

    def _look(self) -> FileStamps:
        return file_stamps(watched_files(self._settings))
