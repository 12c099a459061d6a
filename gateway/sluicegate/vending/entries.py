"""The entries of the ledger, one per issuance. They contain no secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args
from uuid import uuid4

from sluicegate.api.assets.models import AssetKind, SharedAsset
from sluicegate.api.models import Event, SharedTable
from sluicegate.api.principals import Principal
from sluicegate.telemetry import request_id

IssuanceKind = Literal["credentials", "urls", "hadoop-token", "iceberg-config"]
KINDS: tuple[IssuanceKind, ...] = get_args(IssuanceKind)


# Not frozen: `UrlRecord` adds to an entry with each signature, and copies took longer than signatures.
@dataclass(slots=True)
class LedgerEntry:
    """A response that gave a recipient access to a table's storage.

    Attributes:
        given_at: Time of the response; this and all times are in epoch milliseconds.
        expires_at: Time of expiry; `None` if the access does not expire.
        cloud: The cloud of the credentials (`TemporaryCredentials.kind`); `None` for URLs.
        files: Number of signed URLs; `None` for credentials.
        asset: The kind of asset that the names are for; `None` for a table.
    """

    id: str
    given_at: int
    issued_at: int
    expires_at: int | None
    kind: IssuanceKind
    cloud: str | None
    binding: str | None
    recipient_id: str
    recipient: str
    share: str
    schema: str
    table: str
    table_id: str
    locations: tuple[str, ...]
    files: int | None
    address: str | None
    request_id: str | None
    asset: AssetKind | None = None

    @classmethod
    def of(
        cls,
        principal: Principal,
        shared: SharedTable,
        locations: tuple[str, ...],
        *,
        kind: IssuanceKind,
        given_at: int,
        issued_at: int,
        expires_at: int | None,
        cloud: str | None = None,
        binding: str | None = None,
        files: int | None = None,
        entry_id: str | None = None,
    ) -> Self:
        """The entry for the response to the current request."""
        return cls(
            id=entry_id or str(uuid4()),
            given_at=given_at,
            issued_at=issued_at,
            expires_at=expires_at,
            kind=kind,
            cloud=cloud,
            binding=binding,
            recipient_id=principal.id,
            recipient=principal.name,
            share=shared.share,
            schema=shared.schema,
            table=shared.name,
            table_id=shared.id,
            locations=locations,
            files=files,
            address=principal.address,
            request_id=request_id(),
            asset=shared.kind if isinstance(shared, SharedAsset) else None,
        )

    @property
    def table_name(self) -> str:
        """`share.schema.table`, as recipients write it."""
        return f"{self.share}.{self.schema}.{self.table}"

    def event(self, principal: Principal) -> Event:
        """The event for plugins: `issued.credentials`, `issued.urls` and so on."""
        return self.batch_event(principal, self.files, self.expires_at)

    def batch_event(self, principal: Principal, files: int | None, expires_at: int | None) -> Event:
        """The event of one of several batches, with its number of files and its expiry."""
        told = {
            "issuance": self.id,
            "table": self.table_name,
            "table_id": self.table_id,
            "asset": self.asset,
            "location": self.locations[0],
            "cloud": self.cloud,
            "files": files,
            "expires_at": expires_at,
            "request_id": self.request_id,
        }
        known = {name: value for name, value in told.items() if value is not None}
        return Event(f"issued.{self.kind}", self.given_at, principal, known)
