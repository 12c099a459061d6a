"""Directory access: which tables temporary credentials can be had for, and what these open.

Source: delta-sharing-protocol.md, "Access Modes"; directory-based-access.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.access.directory_limits import directory_obstacle
from sluicegate.api import (
    AccessMode,
    CatalogTable,
    SharedTable,
)
from sluicegate.doors.iceberg_offers import IcebergOffers
from sluicegate.doors.reach import Reach, is_inside, without_nested
from sluicegate.registry import Instances
from sluicegate.vending.vendors import Vendors

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot

# Every one of them is credentials of its own to a recipient, and room in a cloud's policy.
_MOST_DIRECTORIES = 16


@dataclass(frozen=True, slots=True)
class Offer:
    """How a table can be read.

    Attributes:
        modes: The access modes; none where the share allows `dir` alone, and it cannot be served.
        locations: The table's directories, root first.
    """

    modes: tuple[AccessMode, ...] = ("url",)
    locations: tuple[str, ...] = ()

    def members(self) -> dict[str, Any]:
        """What listings and metadata say about it.

        Only where `dir` is offered: absent `accessModes` means `url`, and a recipient that gets URLs
        need not know where its provider keeps things.
        """
        if "dir" not in self.modes:
            return {}
        root, *auxiliary = self.locations
        members: dict[str, Any] = {"accessModes": list(self.modes), "location": root}
        return members | ({"auxiliaryLocations": auxiliary} if auxiliary else {})


class DirectoryAccess:
    """Decides about directory access, from the configuration and what is known of a table: no I/O."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._reach = Reach(instances)
        self._vendors = Vendors(instances)
        self._iceberg = IcebergOffers(instances)

    def offer(
        self, shared: SharedTable, source: CatalogTable, snapshot: Snapshot | None = None
    ) -> Offer:
        """Modes and locations together; see `modes`."""
        if "dir" not in shared.access_modes:
            return Offer(shared.access_modes)
        return Offer(self.modes(shared, source, snapshot), self.locations(source, snapshot))

    def modes(
        self, shared: SharedTable, source: CatalogTable, snapshot: Snapshot | None = None
    ) -> tuple[AccessMode, ...]:
        """What the share allows and the gateway can serve, in the order of the share.

        `dir` is served only where a recipient may have all that the table's directories hold
        (`directory_obstacle`), where it can read the log that it finds there (a Delta table whose
        commits the catalog does not keep back), and where credentials can be had for every directory.

        Args:
            shared: The table as it is shared.
            source: The table as its catalog knows it.
            snapshot: The version that is answered, where it was read; then directories of its absolute
                paths count as well.
        """
        return tuple(
            mode
            for mode in shared.access_modes
            if mode == "url" or self._serves_directories(shared, source, snapshot)
        )

    def formats(self, shared: SharedTable, source: CatalogTable) -> str:
        """What a table can be read as: `delta` by this protocol, `iceberg` by the Iceberg catalog.

        Both are `delta,iceberg`, whatever the table's files are written as (since-the-seed.md,
        "OpenSharing"). A table that can be read by neither door now says what it is.
        """
        readable = {
            "delta": self.modes(shared, source),
            "iceberg": self._iceberg.obstacle(shared, source) is None,
        }
        return ",".join(name for name, is_offered in readable.items() if is_offered) or source.format

    def locations(self, source: CatalogTable, snapshot: Snapshot | None = None) -> tuple[str, ...]:
        """The directories that hold the table, root first, in canonical spelling.

        Behind the root come the catalog's auxiliary locations, then those that the snapshot's absolute
        paths lead to, as far as the storage's `absolute_paths` allow.
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
        """Directories of absolute paths elsewhere; `None` where some are not allowed, or too many."""
        if snapshot is None:
            return ()
        from sluicegate.sharing.scattered import absolute_directories  # loads Arrow

        named = (self._instances.canonical(each) for each in absolute_directories(snapshot))
        elsewhere = [each for each in named if not any(is_inside(each, mine) for mine in own)]
        if not all(self._reach.covers(source, each) for each in elsewhere):
            return None
        found = tuple(without_nested(elsewhere))
        return found if len(own) + len(found) <= _MOST_DIRECTORIES else None


def _is_readable_log(source: CatalogTable) -> bool:
    """Whether the log in the directory is all of the table: commits that a catalog ratifies are not."""
    return source.format == "delta" and not source.commits and source.latest_version is None
