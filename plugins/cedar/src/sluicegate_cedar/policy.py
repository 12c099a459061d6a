"""The policy: decisions of Cedar policies about sets of tables."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from sluicegate.api import (
    ConfigurationError,
    PluginContext,
    Policy,
    PolicyAction,
    Principal,
    SharedTable,
    Unavailable,
)
from sluicegate_cedar.config import CedarConfig
from sluicegate_cedar.entities import entities, requests, resource
from sluicegate_cedar.policy_set import LoadedPolicies

if TYPE_CHECKING:
    import cedarpy


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


# Cedar keeps other threads from running while it decides, for some 0.1 ms per table.
_BATCH: Final = 50
_INLINE: Final = 4  # tables; a thread costs more than deciding about so few
_LOG_SECONDS: Final = 60


class CedarPolicy(Policy):
    """Allows what Cedar policies allow."""

    def __init__(self, name: str, files: PolicyFiles, clock: Callable[[], float] = time.time) -> None:
        self._name = name
        self._files = files
        self._clock = clock
        self._reported: dict[str, float] = {}

    @classmethod
    def configured(cls, config: CedarConfig, context: PluginContext) -> CedarPolicy:
        """Return the policy for a section of the configuration, without reading the files."""
        return cls(context.name, PolicyFiles(config.policy_files, config.schema_file))

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """Return the tables that a policy permits and none forbids.

        If a policy can't be evaluated for a table, the table is denied.
        """
        found: set[SharedTable] = set()
        try:
            loaded = await self._files.current()
            for batch in _batches(tables):
                decide = _Batch(loaded, principal, action, batch, self._now())
                if len(tables) <= _INLINE:
                    results = decide()
                else:
                    results = await anyio.to_thread.run_sync(decide)
                found.update(self._permitted(loaded, batch, results))
        except (ConfigurationError, ValueError) as error:
            raise Unavailable(
                f"the policy '{self._name}' cannot decide now; try again later", detail=str(error)
            ) from error
        return frozenset(found)

    def preload(self) -> None:
        """Load the policies."""
        self._files.load()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _permitted(
        self,
        loaded: LoadedPolicies,
        tables: Sequence[SharedTable],
        results: Sequence[cedarpy.AuthzResult],
    ) -> Iterator[SharedTable]:
        import cedarpy

        for table, result in zip(tables, results, strict=True):
            if result.decision is cedarpy.Decision.NoDecision:
                raise ValueError("; ".join(result.diagnostics.errors))
            if result.diagnostics.errors:
                self._report(loaded, table, result.diagnostics.errors)
            elif result.allowed:
                yield table

    def _report(self, loaded: LoadedPolicies, table: SharedTable, errors: Sequence[str]) -> None:
        """Log each error once a minute, because it can occur at every request."""
        now = self._clock()
        for error in errors:
            text = loaded.located(error)
            where = text.partition(": ")[0]
            if now - self._reported.get(where, 0) >= _LOG_SECONDS:
                self._reported[where] = now
                log.warning("%s: %s is denied: %s", self._name, table.full_name, text)


class _Batch:
    """A call of Cedar about some tables."""

    def __init__(
        self,
        loaded: LoadedPolicies,
        principal: Principal,
        action: PolicyAction,
        tables: Sequence[SharedTable],
        now: datetime,
    ) -> None:
        self._loaded = loaded
        self._principal = principal
        self._action = action
        self._tables = tables
        self._now = now

    def __call__(self) -> Sequence[cedarpy.AuthzResult]:
        """Return the results, in the order of the tables."""
        import cedarpy

        known = json.dumps(entities(self._principal, self._tables))
        results: Sequence[cedarpy.AuthzResult] = cedarpy.is_authorized_batch(
            requests(self._principal, self._action, self._tables, self._now),
            self._loaded.policies,
            cedarpy.Entities.from_json_str(known, release_gil=len(self._tables) > _INLINE),
        )
        return results


def _batches(tables: frozenset[SharedTable]) -> Iterator[Sequence[SharedTable]]:
    """Yield the tables in batches in which no two have the same name, because entities differ by it."""
    rounds: dict[int, list[SharedTable]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for table in tables:
        key = tuple(resource(table).values())
        rounds.setdefault(seen[key], []).append(table)
        seen[key] += 1
    for found in rounds.values():
        for start in range(0, len(found), _BATCH):
            yield found[start : start + _BATCH]
