"""Checks what each realm was granted, at submission and again in the worker.

Executors check further locations, which come from catalogs and from a table's own files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sluicegate.api.delegation.realm_grants import RealmGrant
from sluicegate.api.delegation.tasks import DelegatedTask, TaskExecutor, TaskFailed, TaskResult, TaskRun
from sluicegate.api.errors import PermissionDenied
from sluicegate.config.sections.delegation import DelegationSettings, RealmSettings
from sluicegate.delegation.payloads.locations import (
    NAMED_BY_PAYLOAD_ALONE,
    PayloadLocation,
    payload_locations,
)
from sluicegate.delegation.payloads.task_payload import TaskPayload
from sluicegate.plugins import ConfiguredInstances

_EVERYTHING = RealmGrant(None, None, None)
_SHOWN = 200  # characters of a location, and of its path in the payload, in a message


class NotGranted(PermissionDenied):
    """A task names something that its realm was not granted."""

    code = "NOT_GRANTED"


class RealmGrants:
    """The grants of all realms."""

    def __init__(
        self, settings: DelegationSettings, catalogs: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self._catalogs = catalogs or {}
        self._grants: dict[str, RealmGrant] = {
            name: _grant(section) for name, section in settings.realms.items()
        }
        if not settings.realms and len(settings.client_realms) == 1:
            self._grants = dict.fromkeys((*settings.client_realms, settings.realm), _EVERYTHING)

    @classmethod
    def configured(cls, settings: DelegationSettings, configured: ConfiguredInstances) -> Self:
        """Return the grants of a configuration whose executors are known."""
        return cls(
            settings,
            {
                operation: each.type.catalogs(each.config)
                for each in configured.executors
                if each.type.catalogs is not None
                for operation in each.type.operations
            },
        )

    def of(self, realm: str) -> RealmGrant:
        """Return the grant of a realm. A realm that is not configured has an empty grant."""
        return self._grants.get(realm, RealmGrant())

    def check_payload(self, payload: TaskPayload) -> None:
        """Ensure that a payload names only what its realm was granted."""
        common, parameters = payload.common_payload, payload.operation_parameters
        self._check(
            common.realm_identifier,
            common.operation,
            parameters.table_identity.catalog_name,
            payload_locations(parameters.metadata_location, parameters.properties, payload.hidden),
        )

    def granted(self, task: DelegatedTask) -> DelegatedTask:
        """Return the task with its grant. The configuration might have changed since submission."""
        hidden: dict[str, Any] = {**task.further, "metadata": task.metadata}
        locations = payload_locations(task.metadata_location, task.properties, hidden)
        try:
            self._check(task.realm, task.operation, task.table.catalog, locations)
        except NotGranted as error:
            raise TaskFailed(error.message, error_code="NOT_GRANTED") from None
        return replace(task, grant=self.of(task.realm))

    def _check(
        self, realm: str, operation: str, catalog: str, locations: Sequence[PayloadLocation]
    ) -> None:
        grant = self.of(realm)
        if not grant.allows_operation(operation):
            raise _not_granted(realm, f"the operation '{operation}'", "operations")
        is_unknown = operation in self._catalogs and catalog not in self._catalogs[operation]
        # A catalog that the executor doesn't know has no effect: only the locations matter.
        if not (grant.allows_catalog(catalog) or (is_unknown and locations)):
            raise _not_granted(realm, f"the catalog '{catalog}'", "catalogs")
        for place, location in locations:
            of_catalog = not is_unknown and place != NAMED_BY_PAYLOAD_ALONE
            if not grant.allows_location(location, of_catalog=of_catalog):
                what = f"the location '{location[:_SHOWN]}' (operation_parameters.{place[:_SHOWN]})"
                raise _not_granted(realm, what, "locations")


class GrantedExecutor(TaskExecutor):
    """Checks a realm's grant again before it runs a task."""

    def __init__(self, executor: TaskExecutor, grants: RealmGrants) -> None:
        self._executor = executor
        self._grants = grants

    async def acquire(self, task: DelegatedTask) -> Any:
        """See `TaskExecutor.acquire`."""
        return await self._executor.acquire(self._grants.granted(task))

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """See `TaskExecutor.run`."""
        return await self._executor.run(self._grants.granted(task), resources, run)

    async def aclose(self) -> None:
        """Close the executor."""
        await self._executor.aclose()


def _grant(section: RealmSettings) -> RealmGrant:
    return RealmGrant(frozenset(section.operations), frozenset(section.catalogs), section.locations)


def _not_granted(realm: str, what: str, setting: str) -> NotGranted:
    return NotGranted(
        f"realm '{realm}' is not granted {what}; the operator of the delegation service grants it "
        f"with delegation.realms.{realm}.{setting}"
    )
