"""What the ledger says of one issuance. Nothing in it is secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args
from uuid import uuid4

from sluicegate.nouns import Event, Principal, SharedTable
from sluicegate.telemetry import request_id

IssuanceKind = Literal["credentials", "urls", "hadoop-token", "iceberg-config"]
KINDS: tuple[IssuanceKind, ...] = get_args(IssuanceKind)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One answer that gave a recipient access to a table's storage.

    Attributes:
        given_at: When it was answered; this and all times in epoch milliseconds.
        issued_at: When what was given was made: earlier, where credentials are reused.
        expires_at: Until when it opens anything; `None` where it does not end by itself.
        kind: What was given.
        cloud: Whose secret it is (`TemporaryCredentials.kind`); of URLs, `None`.
        binding: How the credentials were made, where the door asked for one (`Scope.binding`).
        share: Names as they were spelled then, as are `schema`, `table` and `recipient`.
        table_id: `SharedTable.id`.
        locations: The directories that were opened; of URLs, the table's.
        files: Of URLs, how many were signed.
        address: Where the recipient called from.
        request_id: As in the access log and the response header.
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
        """The entry of what the request that is being served is answered with."""
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
        )

    @property
    def table_name(self) -> str:
        """`share.schema.table`, as recipients write it."""
        return f"{self.share}.{self.schema}.{self.table}"

    def event(self, principal: Principal) -> Event:
        """What plugins are told: `issued.credentials`, `issued.urls` and so on."""
        told = {
            "issuance": self.id,
            "table": self.table_name,
            "table_id": self.table_id,
            "location": self.locations[0],
            "cloud": self.cloud,
            "files": self.files,
            "expires_at": self.expires_at,
            "request_id": self.request_id,
        }
        known = {name: value for name, value in told.items() if value is not None}
        return Event(f"issued.{self.kind}", self.given_at, principal, known)
