"""Issues temporary credentials for all protocols: vendor, cache, checks, ledger.

Source: Delta Sharing protocol, "Generate Temporary Table Credential"; directory access proposal;
S3A token architecture for the bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from sluicegate._util.clock import epoch_ms
from sluicegate.access.authentication.recipient_checks import check_current
from sluicegate.access.grants import Grants
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api import (
    CatalogTable,
    ConfigurationError,
    CredentialVendor,
    Event,
    Principal,
    Scope,
    SharedTable,
    SluicegateError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.audit.trail import note_issued
from sluicegate.plugins import Instances
from sluicegate.telemetry import count, span
from sluicegate.vending.cache import CredentialCache, Vended
from sluicegate.vending.checks import (
    check_handed_on,
    check_usable,
    is_long_lived,
    unusable,
)
from sluicegate.vending.entries import IssuanceKind, LedgerEntry
from sluicegate.vending.ledger import Ledger, UrlRecord


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


class Vending:
    """Issues temporary, read-only credentials to recipients, and records them in the ledger.

    Attributes:
        limiter: Counts offered files. `None` if nothing does.
    """

    def __init__(
        self,
        vendors: Vendors,
        grants: Grants,
        ledger: Ledger,
        notify: Callable[[Event], None],
        *,
        lifetime: int,
        assumed_lifetime: int = 300,
        now: Callable[[], int] = epoch_ms,
        limiter: RecipientLimiter | None = None,
    ) -> None:
        self.vendors = vendors
        self._grants = grants
        self.ledger = ledger
        self._notify = notify
        self._lifetime = lifetime
        self._assumed_lifetime = assumed_lifetime
        self._now = now
        self.limiter = limiter
        self._cache = CredentialCache(now)

    async def issue(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        locations: Sequence[str] = (),
        *,
        kind: IssuanceKind = "credentials",
        binding: str | None = None,
        lifetime: int | None = None,
        entry_id: str | None = None,
    ) -> TemporaryCredentials:
        """Issue credentials for a recipient. The caller has checked that the share allows them.

        Args:
            principal: The recipient. It is looked up again, so that a revoked recipient gets none.
        """
        vendor, scope = self._asked(principal, source, locations, binding, lifetime)
        since = await self.revoked_before(principal)
        key = _key(vendor, scope, kind)
        written: list[LedgerEntry] = []

        async def make(issued_at: int) -> TemporaryCredentials:
            credentials = await self._vend(vendor, scope)
            outlives = vendor is source.vendor
            check_handed_on(
                credentials, scope, self._now(), self.vendors.canonical, may_outlive=outlives
            )
            entry = self._entry(shared, scope, kind, Vended(credentials, issued_at), entry_id)
            await self.ledger.write(entry)
            written.append(entry)
            return credentials

        vended = self._cache.get(key, since) or await self._cache.vend(key, since, make)
        if not written:
            written.append(self._entry(shared, scope, kind, vended, entry_id))
            self.ledger.note(written[0])
            outcome = "reused"
        else:
            outcome = "vended"
        self._report(principal, written[0], kind, outcome)
        return vended.credentials

    def _report(
        self, principal: Principal, entry: LedgerEntry, kind: IssuanceKind, outcome: str
    ) -> None:
        count("sluicegate.credentials.issued", outcome=outcome)
        note_issued(kind, entry.id, cloud=entry.cloud, expires_at=entry.expires_at)
        self._notify(entry.event(principal))

    def record_urls(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        issued_at: int | None = None,
    ) -> UrlRecord:
        """The recorder for the URLs of one response, which can have been signed earlier."""
        return UrlRecord(self.ledger, self._notify, principal, shared, source, self._now, issued_at)

    async def for_gateway(
        self, principal: Principal, source: CatalogTable
    ) -> TemporaryCredentials | None:
        """Credentials of the table's vendor that the gateway itself uses to read it and sign URLs.

        Keys that do not expire are requested again after the configured lifetime. A session that
        doesn't state when it ends can be old already, and is used only for the assumed lifetime.

        Returns:
            `None` if the catalog does not vend for the table: the storage then uses its own.
        """
        if source.vendor is None or self.vendors.find(source, source.location) is None:
            return None
        vendor, scope = self._asked(principal, source, (), None, None)
        since = await self.revoked_before(principal)
        key = _key(vendor, scope, "urls")

        async def make(issued_at: int) -> TemporaryCredentials:
            credentials = await self._vend(vendor, scope)
            check_usable(credentials, scope, self._now(), self.vendors.canonical)
            seconds = scope.lifetime if is_long_lived(credentials) else self._assumed_lifetime
            return replace(credentials, expires_at=credentials.expires_at or issued_at + seconds * 1000)

        vended = self._cache.get(key, since) or await self._cache.vend(key, since, make)
        return vended.credentials

    async def aclose(self) -> None:
        """Cancel vending in progress."""
        await self._cache.aclose()

    def _asked(
        self,
        principal: Principal,
        source: CatalogTable,
        locations: Sequence[str],
        binding: str | None,
        lifetime: int | None,
    ) -> tuple[CredentialVendor, Scope]:
        """The vendor, and the requested scope."""
        wanted = tuple(map(self.vendors.canonical, locations or (source.location,)))
        vendor, *others = (self.vendors.find(source, location) for location in wanted)
        if vendor is None or any(other != vendor for other in others):
            raise UnsupportedOperation(
                "no temporary credentials are available for this table's directories",
                detail=", ".join(wanted),
            )
        return vendor, Scope(wanted, lifetime or self._lifetime, principal, binding)

    def _entry(
        self,
        shared: SharedTable,
        scope: Scope,
        kind: IssuanceKind,
        vended: Vended,
        entry_id: str | None,
    ) -> LedgerEntry:
        return LedgerEntry.of(
            scope.principal,
            shared,
            scope.locations,
            kind=kind,
            given_at=self._now(),
            issued_at=vended.issued_at,
            expires_at=vended.credentials.expires_at,
            cloud=vended.credentials.kind,
            binding=scope.binding,
            entry_id=entry_id,
        )

    async def _vend(self, vendor: CredentialVendor, scope: Scope) -> TemporaryCredentials:
        with span("vend", locations=len(scope.locations)):
            try:
                return await vendor.vend(scope)
            except SluicegateError:
                raise
            except Exception as error:
                # Only the type: the message of an upstream service can contain secrets.
                raise unusable(f"the vendor failed: {type(error).__name__}") from error

    async def revoked_before(self, principal: Principal) -> int:
        """When the recipient was last revoked, or 0. Credentials from before are not reused."""
        record = await self._grants.recipient(principal.name)
        check_current(record, principal)
        return (record.last_revoked_at if record else None) or 0


def _key(vendor: CredentialVendor, scope: Scope, kind: IssuanceKind) -> Hashable:
    """Everything that distinguishes credentials, including properties, which can be session tags.

    The kind is included because credentials that sign URLs are not in the ledger.
    """
    recipient = scope.principal
    properties = tuple(sorted(recipient.properties.items()))
    return recipient.id, properties, vendor, scope.locations, scope.binding, scope.lifetime, kind
