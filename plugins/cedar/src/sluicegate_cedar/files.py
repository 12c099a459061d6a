"""Keeps the policies of files current."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from sluicegate.api import ConfigurationError
from sluicegate_cedar.policy_set import LoadedPolicies

log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 1.0
_Stamps = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class _State:
    """Policies, and the state of their files."""

    loaded: LoadedPolicies
    stamps: _Stamps
    changing: _Stamps | None = None


class PolicyFiles:
    """Loads policies from files, and loads them again when the files change.

    Changed files are loaded when they are the same at two checks, because a file that is being written
    can be valid and lack its last policies. If they are not valid, the earlier policies stay in force.
    """

    def __init__(
        self,
        policy_files: Sequence[Path],
        schema_file: Path | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy_files = policy_files
        self._schema_file = schema_file
        self._clock = clock
        self._state: _State | None = None
        self._checked_at = float("-inf")
        self._loading = anyio.Lock()

    def load(self) -> _State:
        """Load the policies. This blocks, so call it in a thread."""
        stamps = self._stamps()
        self._state = _State(self._read(), stamps)
        return self._state

    async def current(self) -> LoadedPolicies:
        """Return the policies in force. The files are checked for changes at most once each second."""
        state = self._state or await self._loaded()
        now = self._clock()
        if now - self._checked_at >= _CHECK_SECONDS:
            self._checked_at = now
            state = self._state = await anyio.to_thread.run_sync(self._checked, state)
        return state.loaded

    async def _loaded(self) -> _State:
        async with self._loading:
            # Another request can have loaded them while this one waited.
            if (state := self._state) is not None:
                return state
            return await anyio.to_thread.run_sync(self.load)

    def _checked(self, state: _State) -> _State:
        stamps = self._stamps()
        if stamps == state.stamps:
            return replace(state, changing=None)
        if stamps != state.changing:
            return replace(state, changing=stamps)
        try:
            loaded = self._read()
        except ConfigurationError as error:
            log.error("the changed policies are not valid, the earlier ones stay in force: %s", error)
            return _State(state.loaded, stamps)
        if self._stamps() != stamps:
            return state
        log.info("the policies have changed: %s policies are in force", len(loaded.positions))
        return _State(loaded, stamps)

    def _read(self) -> LoadedPolicies:
        return LoadedPolicies.read(self._policy_files, self._schema_file)

    def _stamps(self) -> _Stamps:
        files = (*self._policy_files, *([self._schema_file] if self._schema_file else []))
        return tuple(map(_stamp, files))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes when a file is written or replaced; `None` while it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
