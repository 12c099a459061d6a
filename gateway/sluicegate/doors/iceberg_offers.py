"""Which tables the Iceberg catalog has: those that a recipient may read by credentials, as Iceberg."""

from __future__ import annotations

from sluicegate.access.directory_limits import directory_obstacle
from sluicegate.api import CatalogTable, SharedTable
from sluicegate.doors.reach import Reach
from sluicegate.registry import Instances
from sluicegate.registry.locations import bucket_of
from sluicegate.vending.vendors import Vendors


class IcebergOffers:
    """Decides which tables are offered, from the configuration and what catalogs say: no I/O.

    Clients read a table's files themselves, with one set of credentials for all of its directories. So
    a table is here where the provider shares its directory (access mode `dir`), where no limit would
    be undone by that, and where such credentials can be had.
    """

    def __init__(self, instances: Instances) -> None:
        self._reach = Reach(instances)
        self._vendors = Vendors(instances)

    def obstacle(self, shared: SharedTable, source: CatalogTable) -> str | None:
        """Why a table is not offered, in words for its recipient; `None` where it is."""
        if source.metadata_location is None:
            return "it has no Iceberg metadata"
        if "dir" not in shared.access_modes:
            return "it is not shared by directory access (dir)"
        if directory_obstacle(shared) is not None:
            return "only a part of it is shared, which credentials for its directory would not keep"
        if not self._is_own(source, source.metadata_location):
            return "its metadata lies outside of its directory"
        if not self._can_be_opened(source):
            return "no temporary credentials can be had for its storage"
        return None

    def locations(self, source: CatalogTable) -> tuple[str, ...]:
        """The directories that hold the table, root first, in canonical spelling."""
        return self._reach.own(source)

    def _is_own(self, source: CatalogTable, location: str) -> bool:
        return self._reach.in_root(source, location) and self._reach.covers(source, location)

    def _can_be_opened(self, source: CatalogTable) -> bool:
        locations = self.locations(source)
        vendor, *others = (self._vendors.for_recipients(source, each) for each in locations)
        buckets = {bucket_of(location) for location in locations}
        return vendor is not None and all(other == vendor for other in others) and len(buckets) == 1
