"""Limits of the tasks that run at the same time: of a realm, an operation, and a schedule."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import func, literal, select

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.statements import (
    Now,
    running_by_realm,
    running_of,
    running_of_realm,
    waiting_realms,
)

Limited = Literal["operation", "schedule"]
# Different locks for the same name. A transaction takes them in this order, after that of its realm, so
# that no two of them wait for each other.
_SEEDS: dict[Limited, int] = {"operation": 1, "schedule": 2}


@dataclass(slots=True)
class Candidates:
    """The tasks among which a worker looks for one; those of full operations and schedules leave."""

    operations: list[str]
    without_schedules: set[str] = field(default_factory=set)

    def leave_out(self, limited: Limited, name: str) -> None:
        """Look for no task of an operation or schedule that is at its limit."""
        if limited == "operation":
            self.operations.remove(name)
        else:
            self.without_schedules.add(name)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the statement `candidate`."""
        given: dict[str, Any] = {"operations": self.operations}
        if self.without_schedules:
            given["without_schedules"] = sorted(self.without_schedules)
        return given


class RunningLimits:
    """Compares running tasks with the configured limits, within the transaction that leases a task."""

    def __init__(self, settings: DelegationSettings, now: Now) -> None:
        self._settings = settings
        self._now = now
        self._limits: dict[Limited, dict[str, int]] = {
            "operation": dict(settings.operation_limits),
            "schedule": {
                name: section.max_running
                for name, section in settings.schedules.items()
                if section.max_running is not None
            },
        }

    def of_realm(self, realm: str) -> int:
        """The limit of a realm."""
        return self._settings.realm_limits.get(realm, self._settings.max_running_per_realm)

    async def realm_is_full(self, connection: AsyncConnection, task: TaskRecord) -> bool:
        """Whether the realm of a candidate is at its limit. The candidate has locked its realm."""
        counted = await connection.execute(running_of_realm(self._now), {"realm": task.realm})
        return int(counted.scalar_one()) >= self.of_realm(task.realm)

    async def full(self, connection: AsyncConnection, task: TaskRecord) -> tuple[Limited, str] | None:
        """The operation or schedule of a candidate, if it is at its limit.

        Operations and schedules without a limit cost nothing.
        """
        named: tuple[tuple[Limited, str | None], ...] = (
            ("operation", task.operation),
            ("schedule", task.schedule),
        )
        for limited, name in named:
            if name is None or name not in self._limits[limited]:
                continue
            if connection.dialect.name == "postgresql":
                # Otherwise, two workers could count before either has leased.
                key = func.hashtextextended(literal(name), _SEEDS[limited])
                await connection.execute(select(func.pg_advisory_xact_lock(key)))
            counted = await connection.execute(running_of(self._now, limited), {"name": name})
            if counted.scalar_one() >= self._limits[limited][name]:
                return limited, name
        return None

    async def realms_with_room(
        self, connection: AsyncConnection, operations: Collection[str]
    ) -> Sequence[str]:
        """Realms below their limits that have due tasks, ordered by their most urgent task."""
        counted = await connection.execute(running_by_realm(self._now))
        running: dict[str, int] = dict(counted.all())
        given = {"operations": list(operations)}
        waiting = await connection.execute(waiting_realms(self._now), given)
        return [each for each in waiting.scalars() if running.get(each, 0) < self.of_realm(each)]
