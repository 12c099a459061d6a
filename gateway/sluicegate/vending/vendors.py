"""Who vends credentials for a location, and how locations are compared."""

from __future__ import annotations

from sluicegate.api import CatalogTable, ConfigurationError, CredentialVendor
from sluicegate.registry import Instances


class Vendors:
    """Finds vendors among the catalog's answers and the configured storage."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances

    def find(self, source: CatalogTable, location: str) -> CredentialVendor | None:
        """Who vends for a directory of a table; `None` where nobody does. Does no I/O.

        A catalog that vends is asked alone: what it refuses is not opened by the storage's own rights.

        Args:
            source: What the catalog says of the table.
            location: The table's directory, or an auxiliary one.
        """
        canonical = self.canonical(location)
        vendor = source.vendor or self._storage_vendor(canonical)
        return vendor if vendor is not None and vendor.vends(canonical) else None

    def for_recipients(self, source: CatalogTable, location: str) -> CredentialVendor | None:
        """As `find`; `None` also where it is known that what is vended may not be handed on."""
        vendor = self.find(source, location)
        return vendor if vendor is not None and vendor.hands_on(self.canonical(location)) else None

    def canonical(self, location: str) -> str:
        """The one spelling of a directory: `S3A://lake/t/` becomes `s3://lake/t`."""
        scheme, separator, rest = location.partition("://")
        spelled = f"{scheme.lower()}{separator}{rest.removesuffix('/')}"
        return self._instances.canonical(spelled)

    def _storage_vendor(self, location: str) -> CredentialVendor | None:
        try:
            _, storage = self._instances.storage_for(location)
        except ConfigurationError:
            return None
        return storage if isinstance(storage, CredentialVendor) else None
