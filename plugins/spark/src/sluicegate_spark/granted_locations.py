"""Checks which locations a task can access."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluicegate.api import DelegatedTask, RealmGrant, TaskFailed
from sluicegate_iceberg.format.objects import literal_location

_SHOWN = 200  # characters of a location in a message


@dataclass(frozen=True, slots=True)
class GrantedLocations:
    """The locations of a task's grant. Instances can be sent to other machines.

    Attributes:
        of_catalog: Whether a catalog names the table's location. `False` if only the payload does.
    """

    realm: str
    grant: RealmGrant
    of_catalog: bool

    @property
    def is_limited(self) -> bool:
        """Return whether a table's files need to be checked before anything else opens them."""
        return self.grant.locations is not None

    def allows(self, location: str) -> bool:
        """Return whether the task can access a file or directory."""
        return self.grant.allows_location(literal_location(location), of_catalog=self.of_catalog)

    def check(self, locations: Iterable[str]) -> None:
        """Ensure that the task can access all given files or directories."""
        for location in locations:
            if not self.allows(location):
                raise not_granted(
                    self.realm, f"the location '{location[:_SHOWN]}' of the table", "locations"
                )


def check_catalog(task: DelegatedTask) -> None:
    """Ensure that a task can use its catalog, which is configured for the executor."""
    if not task.grant.allows_catalog(task.table.catalog):
        raise not_granted(task.realm, f"the catalog '{task.table.catalog}'", "catalogs")


def not_granted(realm: str, what: str, setting: str) -> TaskFailed:
    """Return the failure of a task that needs something its realm was not granted."""
    return TaskFailed(
        f"realm '{realm}' is not granted {what}; the operator of the delegation service grants it "
        f"with delegation.realms.{realm}.{setting}",
        error_code="NOT_GRANTED",
    )
