"""Which tables the Iceberg catalog offers: with vended credentials, or file by file."""

from __future__ import annotations

from sluicegate.access.directory_access import directory_obstacle
from sluicegate.api import CatalogTable, PermissionDenied, SharedTable
from sluicegate.plugins import Instances
from sluicegate.plugins.locations import bucket_of
from sluicegate.protocols.common.location_policy import LocationPolicy
from sluicegate.vending.issue import Vendors


def check_urls(table: SharedTable) -> None:
    """Reject URLs of single files if the table is shared only with directory access."""
    if "url" not in table.access_modes:
        raise PermissionDenied(
            f"{table.full_name} is not shared with presigned URLs (url): load it with credentials"
        ).decided_by("access mode")


class IcebergOffers:
    """Decides which tables are offered, from the configuration and catalog responses, without I/O.

    With credentials, clients read a table's files themselves, with one set of credentials for all of
    its directories. This is offered only if all of these conditions are met: the provider shares its
    directory (access mode `dir`), direct access would not bypass any limit, and such credentials are
    available.

    File by file, the gateway plans scans and signs each request. This is offered for every table that
    is shared by `url`, with all of its limits, if its version can be expressed as an Iceberg table.
    """

    def __init__(self, instances: Instances) -> None:
        self._formats = instances.formats
        self._reach = LocationPolicy(instances)
        self._vendors = Vendors(instances)

    def file_obstacle(self, shared: SharedTable, source: CatalogTable) -> str | None:
        """Why a table is not offered file by file, as far as that is known without reading it."""
        if "url" not in shared.access_modes:
            return "it is not shared with presigned URLs (url)"
        if source.format not in self._formats:
            return f"tables of format '{source.format}' cannot be read"
        return None

    def obstacle(self, shared: SharedTable, source: CatalogTable) -> str | None:
        """Why a table is not offered with credentials, for the recipient. `None` if it is offered."""
        if source.metadata_location is None:
            return "it has no Iceberg metadata"
        if shared.ref is not None:
            return "one branch or tag is shared, but credentials for its directory would expose all"
        if "dir" not in shared.access_modes:
            return "it is not shared with directory access (dir)"
        if directory_obstacle(shared) is not None:
            return "only a part of it is shared, but credentials for its directory would expose it all"
        if not self._is_own(source, source.metadata_location):
            return "its metadata is stored outside its directory"
        if not self._can_be_opened(source):
            return "its storage does not offer temporary credentials"
        return None

    def locations(self, source: CatalogTable) -> tuple[str, ...]:
        """The directories of the table, root first, in canonical form."""
        return self._reach.own(source)

    def _is_own(self, source: CatalogTable, location: str) -> bool:
        return self._reach.in_root(source, location) and self._reach.covers(source, location)

    def _can_be_opened(self, source: CatalogTable) -> bool:
        locations = self.locations(source)
        vendor, *others = (self._vendors.for_recipients(source, each) for each in locations)
        buckets = {bucket_of(location) for location in locations}
        return vendor is not None and all(other == vendor for other in others) and len(buckets) == 1
