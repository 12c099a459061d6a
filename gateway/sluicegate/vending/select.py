"""Finds the vendor of credentials for a location."""

from __future__ import annotations

from sluicegate.api import CatalogTable, ConfigurationError, CredentialVendor
from sluicegate.plugins import Instances


class Vendors:
    """Finds vendors in the catalog's response and the configured storage."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances

    def find(self, source: CatalogTable, location: str) -> CredentialVendor | None:
        """Find the vendor for a directory of a table, or return `None`. No I/O.

        If a catalog vends, only the catalog is used: the storage's own rights must not grant access
        that the catalog rejects.
        """
        canonical = self.canonical(location)
        vendor = source.vendor or self._storage_vendor(canonical)
        return vendor if vendor is not None and vendor.vends(canonical) else None

    def for_recipients(self, source: CatalogTable, location: str) -> CredentialVendor | None:
        """As `find`, but `None` if recipients are known not to be allowed the vendor's credentials."""
        vendor = self.find(source, location)
        return vendor if vendor is not None and vendor.can_delegate(self.canonical(location)) else None

    def canonical(self, location: str) -> str:
        """The canonical form of a directory: `S3A://lake/t/` becomes `s3://lake/t`."""
        scheme, separator, rest = location.partition("://")
        spelled = f"{scheme.lower()}{separator}{rest.removesuffix('/')}"
        return self._instances.canonical(spelled)

    def _storage_vendor(self, location: str) -> CredentialVendor | None:
        try:
            _, storage = self._instances.storage_for(location)
        except ConfigurationError:
            return None
        return storage if isinstance(storage, CredentialVendor) else None
