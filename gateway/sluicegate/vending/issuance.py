"""The one issuance behind every door: vendor, cache, checks, ledger.

Source: delta-sharing-protocol.md, "Generate Temporary Table Credential"; directory-based-access.md;
s3a-delegation-tokens.md for the bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from sluicegate.access.admission import admit
from sluicegate.access.grants import Grants
from sluicegate.api import (
    CatalogTable,
    CredentialVendor,
    Event,
    Principal,
    Scope,
    SharedTable,
    SluicegateError,
    TemporaryCredentials,
    Unauthenticated,
    UnsupportedOperation,
)
from sluicegate.clock import epoch_ms
from sluicegate.store.reads import RecipientRecord
from sluicegate.telemetry import count, span
from sluicegate.vending.cache import CredentialCache, Vended
from sluicegate.vending.checks import check_handed_on, check_usable, unusable
from sluicegate.vending.entries import IssuanceKind, LedgerEntry
from sluicegate.vending.ledger import Ledger
from sluicegate.vending.url_record import UrlRecord
from sluicegate.vending.vendors import Vendors


class Vending:
    """Gives recipients temporary, read-only credentials, and records that it did.

    Args:
        vendors: Finds who vends.
        grants: Where recipients are looked up.
        ledger: Records what was given.
        notify: Tells plugins.
        lifetime: Seconds that credentials shall live.
        now: Epoch milliseconds.

    Attributes:
        vendors: Finds who vends.
        ledger: Records what was given.
    """

    def __init__(
        self,
        vendors: Vendors,
        grants: Grants,
        ledger: Ledger,
        notify: Callable[[Event], None],
        *,
        lifetime: int,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self.vendors = vendors
        self._grants = grants
        self.ledger = ledger
        self._notify = notify
        self._lifetime = lifetime
        self._now = now
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
        """Credentials that leave the gateway. Whether the share allows them, the door has checked.

        Args:
            principal: Who gets them; looked up again, so that a revoked recipient gets none.
            shared: The table, as the ledger names it.
            source: What its catalog says.
            locations: Directories of the table, all of one bucket; by default its root.
            kind: What they are spelled as, for the ledger.
            binding: How they shall be made (`Scope.binding`).
            lifetime: Wanted life in seconds, instead of the configured one.
            entry_id: UUID of the entry in the ledger, where what is given carries it.

        Raises:
            Unauthenticated: The recipient was revoked.
            UnsupportedOperation: Nobody vends for the locations, or the cloud cannot limit to them.
            PermissionDenied: The vendor's configuration does not allow the locations or the binding.
            StorageError: The vendor has none now, or answered what cannot be handed on.
            Unavailable: The ledger cannot be written: nothing is given that is not recorded.
        """
        vendor, scope = self._asked(principal, source, locations, binding, lifetime)
        since = await self.revoked_before(principal)
        key = _key(vendor, scope, kind)
        written: list[LedgerEntry] = []

        async def make(issued_at: int) -> TemporaryCredentials:
            credentials = await self._vend(vendor, scope)
            check_handed_on(
                credentials,
                scope,
                self._now(),
                self.vendors.canonical,
                may_outlive=vendor is source.vendor,
            )
            entry = self._entry(shared, scope, kind, Vended(credentials, issued_at), entry_id)
            await self.ledger.write(entry)
            written.append(entry)
            return credentials

        vended = self._cache.get(key, since) or await self._cache.vend(key, since, make)
        if not written:
            written.append(self._entry(shared, scope, kind, vended, entry_id))
            self.ledger.note(written[0])
            count("sluicegate.credentials.issued", outcome="reused")
        else:
            count("sluicegate.credentials.issued", outcome="vended")
        self._notify(written[0].event(principal))
        return vended.credentials

    def record_urls(self, principal: Principal, shared: SharedTable, source: CatalogTable) -> UrlRecord:
        """What records the URLs of one answer."""
        return UrlRecord(self.ledger, self._notify, principal, shared, source, self._now)

    async def for_gateway(
        self, principal: Principal, source: CatalogTable
    ) -> TemporaryCredentials | None:
        """Credentials of the table's own vendor to read it and sign its URLs; they stay in the gateway.

        Keys that do not end are asked for anew after the configured life, as if they did.

        Returns:
            `None` where the catalog does not vend for it: the storage then uses its own.

        Raises:
            Unauthenticated: The recipient was revoked.
            StorageError: It has no credentials now, or answered what cannot be used.
        """
        if source.vendor is None or self.vendors.find(source, source.location) is None:
            return None
        vendor, scope = self._asked(principal, source, (), None, None)
        since = await self.revoked_before(principal)
        key = _key(vendor, scope, "urls")

        async def make(issued_at: int) -> TemporaryCredentials:
            credentials = await self._vend(vendor, scope)
            check_usable(credentials, scope, self._now(), self.vendors.canonical)
            ends = credentials.expires_at or issued_at + scope.lifetime * 1000
            return replace(credentials, expires_at=ends)

        vended = self._cache.get(key, since) or await self._cache.vend(key, since, make)
        return vended.credentials

    async def aclose(self) -> None:
        """Stop what is still being vended."""
        await self._cache.aclose()

    def _asked(
        self,
        principal: Principal,
        source: CatalogTable,
        locations: Sequence[str],
        binding: str | None,
        lifetime: int | None,
    ) -> tuple[CredentialVendor, Scope]:
        """Who vends, and what it is asked for."""
        wanted = tuple(map(self.vendors.canonical, locations or (source.location,)))
        vendor, *others = (self.vendors.find(source, location) for location in wanted)
        if vendor is None or any(other != vendor for other in others):
            raise UnsupportedOperation(
                "no temporary credentials can be had for this table's directories",
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
                # The kind alone: what an upstream says may hold secrets.
                raise unusable(f"the vendor failed: {type(error).__name__}") from error

    async def revoked_before(self, principal: Principal) -> int:
        """When the recipient was last revoked, 0 for never; what was vended before is not reused.

        Raises:
            Unauthenticated: The recipient is revoked now, or does not exist any more.
        """
        record = await self._grants.recipient(principal.name)
        _check_recipient(record, principal)
        return (record.last_revoked_at if record else None) or 0


def _check_recipient(record: RecipientRecord | None, principal: Principal) -> None:
    if record is None or record.id != principal.id:
        raise Unauthenticated("the recipient does not exist any more")
    admit(record, principal.method, principal.address)


def _key(vendor: CredentialVendor, scope: Scope, kind: IssuanceKind) -> Hashable:
    """All that tells credentials apart; properties may become session tags.

    The kind, as what signs URLs is in the ledger only once it leaves the gateway.
    """
    recipient = scope.principal
    properties = tuple(sorted(recipient.properties.items()))
    return recipient.id, properties, vendor, scope.locations, scope.binding, scope.lifetime, kind
