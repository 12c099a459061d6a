"""Everything that is known about one recipient, without secrets, and its deletion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import delete, func, select

from sluicegate.access.recipients.rows import existing_recipient
from sluicegate.config.sections.authentication import OidcSettings
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.tables import grants, ledger, recipients, shares, tokens


@dataclass(frozen=True, slots=True)
class CredentialDetails:
    """A bearer token or an OAuth client. Times are epoch milliseconds.

    Attributes:
        limited: Whether an administrator of only some shares issued it. Then it ends when the recipient
            gets another share.
    """

    id: str
    kind: str
    state: Literal["valid", "expired", "revoked"]
    created_at: int
    expires_at: int
    revoked_at: int | None
    limited: bool


@dataclass(frozen=True, slots=True)
class RecipientDetails:
    """A recipient. Times are epoch milliseconds, `None` if it never happened.

    Attributes:
        token_lifetime: Lifetime of its credentials in seconds, or `None` for the default.
    """

    id: str
    name: str
    state: Literal["active", "revoked"]
    comment: str | None
    shares: tuple[str, ...]
    token_lifetime: int | None
    allow_from: tuple[str, ...]
    properties: dict[str, str]
    created_at: int
    revoked_at: int | None
    last_revoked_at: int | None
    last_issued_at: int | None
    credentials: tuple[CredentialDetails, ...]

    @property
    def valid_credentials(self) -> int:
        """The number of tokens and OAuth clients that are valid."""
        return sum(credential.state == "valid" for credential in self.credentials)


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """Tokens that authenticate a recipient: those of an issuer with one of these values of a claim."""

    issuer: str
    claim: str
    values: tuple[str, ...]


async def recipient_details(connection: AsyncConnection, name: str, now: int) -> RecipientDetails:
    """Read a recipient."""
    row = await existing_recipient(connection, name)
    last = select(func.max(ledger.c.given_at)).where(ledger.c.recipient_id == row.id)
    return RecipientDetails(
        id=row.id,
        name=row.name,
        state="active" if row.revoked_at is None else "revoked",
        comment=row.comment,
        shares=tuple(await _granted(connection, row.id)),
        token_lifetime=row.token_lifetime,
        allow_from=tuple(row.allow_from),
        properties=dict(row.properties),
        created_at=row.created_at,
        revoked_at=row.revoked_at,
        last_revoked_at=row.last_revoked_at,
        last_issued_at=(await connection.execute(last)).scalar_one(),
        credentials=await _credentials(connection, row.id, now),
    )


async def delete_recipient(connection: AsyncConnection, recipient_id: str) -> None:
    """Delete a recipient with its credentials and grants. Its entries in the ledger stay."""
    await connection.execute(delete(recipients).where(recipients.c.id == recipient_id))


def oidc_identities(issuers: Iterable[OidcSettings], name: str) -> list[OidcIdentity]:
    """The identities of configured issuers that authenticate a recipient."""
    found = []
    for issuer in issuers:
        if issuer.recipients is None:
            values = [name]  # claims are case-sensitive
        else:
            mapped = issuer.recipients.items()
            values = [value for value, to in mapped if name_key(to) == name_key(name)]
        if values:
            found.append(OidcIdentity(issuer.issuer, issuer.claim, tuple(values)))
    return found


async def _granted(connection: AsyncConnection, recipient_id: str) -> Iterable[str]:
    query = (
        select(shares.c.name)
        .join(grants, grants.c.share_id == shares.c.id)
        .where(grants.c.recipient_id == recipient_id)
        .order_by(shares.c.key)
    )
    return (await connection.execute(query)).scalars().all()


async def _credentials(
    connection: AsyncConnection, recipient_id: str, now: int
) -> tuple[CredentialDetails, ...]:
    columns = (
        tokens.c.id,
        tokens.c.kind,
        tokens.c.created_at,
        tokens.c.expires_at,
        tokens.c.revoked_at,
        tokens.c.issued_for.is_not(None).label("limited"),
    )
    query = (
        select(*columns)
        .where(tokens.c.recipient_id == recipient_id)
        .order_by(tokens.c.created_at.desc(), tokens.c.id)
    )
    found = await connection.execute(query)
    return tuple(
        CredentialDetails(state=_state(row.expires_at, row.revoked_at, now), **row._mapping)
        for row in found
    )


def _state(expires_at: int, revoked_at: int | None, now: int) -> Literal["valid", "expired", "revoked"]:
    if revoked_at is not None and revoked_at <= now:
        return "revoked"
    return "expired" if expires_at <= now else "valid"
