"""Credentials that administrators of only some shares issued.

Such an administrator may have kept the credential. So it ends when its recipient gets another share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, Select, Table, or_, select, update

from sluicegate.api.errors import PermissionDenied
from sluicegate.database.admin_tables import activation_links
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import grants, recipients, shares, tokens

# Rows in one statement: SQLite limits the number of its parameters.
_BATCH = 500


@dataclass(slots=True)
class EndingAccess:
    """What ends of a recipient with new grants."""

    recipient: str
    share: str
    credentials: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """What ends, and why."""
        counts = [
            f"{number} {noun}{'' if number == 1 else 's'}"
            for number, noun in (
                (len(self.credentials), "credential"),
                (len(self.links), "activation link"),
            )
            if number
        ]
        end = "ends" if len(self.credentials) + len(self.links) == 1 else "end"
        return (
            f"{' and '.join(counts)} of recipient {self.recipient} {end}, because the issuer does not "
            f"manage the share {self.share}: issue a new credential"
        )


async def check_issuer(
    connection: AsyncConnection, recipient: Row[Any], issued_for: Collection[str] | None
) -> None:
    """Check, in the transaction that issues a credential, that its issuer manages the recipient."""
    if issued_for is None:
        return
    query = select(shares.c.key).join(grants, grants.c.share_id == shares.c.id)
    granted = (await connection.execute(query.where(grants.c.recipient_id == recipient.id))).scalars()
    keys = {*granted}
    if not keys or not keys <= {*issued_for}:
        raise PermissionDenied(
            f"the grants of the recipient '{recipient.name}' were changed: you no longer manage it"
        ).decided_by("role")


async def find_ending(
    connection: AsyncConnection, granted: Mapping[str, Collection[str]], now: int
) -> list[EndingAccess]:
    """The credentials and links whose issuers do not manage all shares of their recipients."""
    found: dict[str, EndingAccess] = {}
    valid = (tokens.c.revoked_at.is_(None), tokens.c.expires_at > now)
    for row, share in await _not_covered(connection, _limited(tokens).where(*valid), granted):
        found.setdefault(row.key, EndingAccess(row.name, share)).credentials.append(row.id)
    links = activation_links.c
    is_free = or_(links.used_at.is_(None), links.undelivered.is_not(None))
    unused = (is_free, links.withdrawn_at.is_(None), links.expires_at > now)
    for row, share in await _not_covered(
        connection, _limited(activation_links).where(*unused), granted
    ):
        found.setdefault(row.key, EndingAccess(row.name, share)).links.append(row.id)
    return [found[key] for key in sorted(found)]


async def end_access(connection: AsyncConnection, ending: Iterable[EndingAccess], now: int) -> None:
    """Revoke credentials and withdraw links."""
    credentials = [each for one in ending for each in one.credentials]
    links = [each for one in ending for each in one.links]
    for table, ids, column in (
        (tokens, credentials, "revoked_at"),
        (activation_links, links, "withdrawn_at"),
    ):
        for start in range(0, len(ids), _BATCH):
            mine = table.c.id.in_(ids[start : start + _BATCH])
            await connection.execute(update(table).where(mine).values({column: now}))


def _limited(table: Table) -> Select[Any]:
    columns = (table.c.id, table.c.issued_for, recipients.c.key, recipients.c.name)
    return (
        select(*columns)
        .join(recipients, recipients.c.id == table.c.recipient_id)
        .where(table.c.issued_for.is_not(None))
        .order_by(table.c.created_at, table.c.id)
    )


async def _not_covered(
    connection: AsyncConnection, query: Select[Any], granted: Mapping[str, Collection[str]]
) -> list[tuple[Row[Any], str]]:
    found = []
    if len(granted) <= _BATCH:
        query = query.where(recipients.c.key.in_(granted))
    for row in await connection.execute(query):
        others = {*granted.get(row.key, ())} - {*row.issued_for}
        if others:
            found.append((row, min(others)))
    return found
