"""Directory access: which tables offer temporary credentials, and what these grant access to.

Source: Delta Sharing protocol, "Access Modes"; directory access proposal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.access.directory_access import directory_obstacle
from sluicegate.api import (
    AccessMode,
    CatalogTable,
    SharedTable,
)
from sluicegate.plugins import Instances
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.location_policy import LocationPolicy, is_inside, without_nested
from sluicegate.vending.issue import Vendors

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot

# Each directory means another set of credentials for a recipient, and space in a cloud's policy.
_MOST_DIRECTORIES = 16


@dataclass(frozen=True, slots=True)
class Offer:
    """How a table can be read."""

    modes: tuple[AccessMode, ...] = ("url",)
    locations: tuple[str, ...] = ()
    iceberg: bool = False

    def members(self) -> dict[str, Any]:
        """The JSON members of listings and metadata about it.

        Empty unless `dir` is offered: absent `accessModes` means `url`, and a recipient that gets URLs
        does not need to know the provider's storage locations.
        """
        if "dir" not in self.modes:
            return {}
        root, *auxiliary = self.locations
        members: dict[str, Any] = {"accessModes": list(self.modes), "location": root}
        return members | ({"auxiliaryLocations": auxiliary} if auxiliary else {})


class DirectoryAccess:
    """Decides on directory access from the configuration and known facts about a table, without I/O."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._reach = LocationPolicy(instances)
        self._vendors = Vendors(instances)
        self._iceberg = IcebergOffers(instances)

    def offer(
        self, shared: SharedTable, source: CatalogTable, snapshot: Snapshot | None = None
    ) -> Offer:
        """Modes, locations, and the Iceberg catalog together; see `modes`."""
        if "dir" not in shared.access_modes:
            return Offer(shared.access_modes)
        iceberg = self._iceberg.obstacle(shared, source) is None
        return Offer(self.modes(shared, source, snapshot), self.locations(source, snapshot), iceberg)

    def modes(
        self, shared: SharedTable, source: CatalogTable, snapshot: Snapshot | None = None
    ) -> tuple[AccessMode, ...]:
        """The modes that the share allows and the gateway can serve, in the order of the share.

        `dir` is served only if all of these conditions are met: the recipient is allowed to read
        everything in the table's directories (`directory_obstacle`), it can read the log there (a Delta
        table whose commits are not managed by the catalog), and credentials are available for every
        directory.
        """
        return tuple(
            mode
            for mode in shared.access_modes
            if mode == "url" or self._serves_directories(shared, source, snapshot)
        )

    def formats(self, shared: SharedTable, source: CatalogTable) -> str:
        """The formats that a table can be read as: `delta` here, `iceberg` in the Iceberg catalog.

        If both apply, the result is `delta,iceberg`, regardless of the format of the table's files
        (docs/interop.md, "OpenSharing"). A table that neither protocol can serve now reports its own
        format.
        """
        readable = {
            "delta": self.modes(shared, source),
            "iceberg": self._iceberg.obstacle(shared, source) is None,
        }
        return ",".join(name for name, is_offered in readable.items() if is_offered) or source.format

    def locations(self, source: CatalogTable, snapshot: Snapshot | None = None) -> tuple[str, ...]:
        """The directories that contain the table, root first, in canonical form.

        After the root come the catalog's auxiliary locations, then the directories that the snapshot's
        absolute paths point to, as far as the storage's `absolute_paths` allow.
        """
        own = self._reach.own(source)
        return own + (self._scattered(source, own, snapshot) or ())

    def _serves_directories(
        self, shared: SharedTable, source: CatalogTable, snapshot: Snapshot | None
    ) -> bool:
        if directory_obstacle(shared) is not None or not _is_readable_log(source):
            return False
        own = self._reach.own(source)
        scattered = self._scattered(source, own, snapshot)
        return scattered is not None and all(
            self._vendors.for_recipients(source, location) is not None for location in own + scattered
        )

    def _scattered(
        self, source: CatalogTable, own: tuple[str, ...], snapshot: Snapshot | None
    ) -> tuple[str, ...] | None:
        """Directories of absolute paths elsewhere. `None` if there are forbidden or too many ones."""
        if snapshot is None:
            return ()
        from sluicegate.protocols.delta_sharing.directory_access.absolute_paths import (
            absolute_directories,  # loads Arrow
        )

        named = (self._instances.canonical(each) for each in absolute_directories(snapshot))
        elsewhere = [each for each in named if not any(is_inside(each, mine) for mine in own)]
        if not all(self._reach.covers(source, each) for each in elsewhere):
            return None
        found = tuple(without_nested(elsewhere))
        return found if len(own) + len(found) <= _MOST_DIRECTORIES else None


def _is_readable_log(source: CatalogTable) -> bool:
    """Whether the log in the directory is complete, which it is not if a catalog ratifies commits."""
    return source.format == "delta" and not source.commits and source.latest_version is None
