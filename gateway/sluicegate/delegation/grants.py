"""Checks what each realm was granted, at submission and again in the worker.

Executors check further locations, which come from catalogs and from a table's own files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self

from sluicegate.api.delegation.realm_grants import RealmGrant
from sluicegate.api.delegation.tasks import DelegatedTask, TaskExecutor, TaskFailed, TaskResult, TaskRun
from sluicegate.api.errors import PermissionDenied
from sluicegate.config.sections.delegation import DelegationSettings, RealmSettings
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.plugins import ConfiguredInstances

NAMED_BY_PAYLOAD_ALONE: Final = "properties.location"
"""No catalog confirms this location: executors use it instead of the catalog's."""

WRITE_PATHS: Final = frozenset(
    (
        "write.data.path",
        "write.metadata.path",
        "write.object-storage.path",
        "write.folder-storage.path",
    )
)
_PREFIX: Final = "prefix"  # of storage-credentials
_KEYS: Final = WRITE_PATHS | {
    "location",
    "base-location",
    "metadata-location",
    "metadata-file",
    "manifest-list",
    "manifests",
    "statistics-path",
    _PREFIX,
}
_FREE_TEXTS: Final = (
    "properties"  # the table's own properties, where any key might look like a location
)


class PayloadLocation(NamedTuple):
    """A location, and its path in the operation's parameters."""

    place: str
    location: str


def payload_locations(
    metadata_location: str | None, properties: Mapping[str, str], hidden: Mapping[str, Any]
) -> list[PayloadLocation]:
    """Return all locations of a payload."""
    found = [] if metadata_location is None else [("metadata_location", metadata_location)]
    found += [(f"properties.{key}", properties[key]) for key in properties if key in _KEYS - {_PREFIX}]
    places: list[tuple[str, str, Any]] = [
        (key, key, value) for key, value in hidden.items() if key != "config"
    ]
    while places:
        place, key, value = places.pop()
        if isinstance(value, str) and key in _KEYS:
            found.append((place, value))
        places += _members(place, key, value)
    return [PayloadLocation(*each) for each in found]


def _members(place: str, key: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, Mapping):
        wanted = WRITE_PATHS if key == _FREE_TEXTS else None
        for name, each in value.items():
            if wanted is None or name in wanted:
                yield f"{place}.{name}", name, each
    elif isinstance(value, list):
        yield from ((f"{place}.{number}", key, each) for number, each in enumerate(value))


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
