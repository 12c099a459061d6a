"""Which locations a task may touch, wherever they become known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluicegate.api import DelegatedTask, RealmGrant, TaskFailed
from sluicegate_iceberg.format.objects import literal_location

_SHOWN = 200  # characters of a location in a message


@dataclass(frozen=True, slots=True)
class GrantedLocations:
    """The locations of a task's grant. It can be sent to other machines.

    Attributes:
        realm: Of the task.
        grant: Of the realm.
        of_catalog: A catalog says where the table is; `False` where only the payload does.
    """

    realm: str
    grant: RealmGrant
    of_catalog: bool

    @property
    def is_limited(self) -> bool:
        """Whether the files of a table have to be looked at before something else opens them."""
        return self.grant.locations is not None

    def allows(self, location: str) -> bool:
        """Whether the task may touch a file or a directory."""
        return self.grant.allows_location(literal_location(location), of_catalog=self.of_catalog)

    def check(self, locations: Iterable[str]) -> None:
        """Make sure that the task may touch all of some files or directories.

        Raises:
            TaskFailed: It may not (`NOT_GRANTED`).
        """
        for location in locations:
            if not self.allows(location):
                raise not_granted(
                    self.realm, f"the location '{location[:_SHOWN]}' of the table", "locations"
                )


def check_catalog(task: DelegatedTask) -> None:
    """Make sure that a task may name its catalog, which is configured for the executor.

    Raises:
        TaskFailed: It may not (`NOT_GRANTED`).
    """
    if not task.grant.allows_catalog(task.table.catalog):
        raise not_granted(task.realm, f"the catalog '{task.table.catalog}'", "catalogs")


def not_granted(realm: str, what: str, setting: str) -> TaskFailed:
    """The failure of a task that would touch what its realm was not granted."""
    return TaskFailed(
        f"realm '{realm}' is not granted {what}; the operator of the delegation service grants it "
        f"with delegation.realms.{realm}.{setting}",
        error_code="NOT_GRANTED",
    )
