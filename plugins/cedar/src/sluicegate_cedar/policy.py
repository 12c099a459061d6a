"""The policy: decisions of Cedar policies about sets of tables."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

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
from sluicegate_cedar.files import PolicyFiles
from sluicegate_cedar.policy_set import LoadedPolicies

if TYPE_CHECKING:
    import cedarpy

log = logging.getLogger(__name__)

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
