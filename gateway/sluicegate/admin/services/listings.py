"""Lists of shares and recipients in parts, so that no request reads all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, func, select, true

from sluicegate.access.recipients.summaries import RecipientSelection, reads_share, recipient_names
from sluicegate.access.shares_file.entries import Entry
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.stored import (
    Part,
    joined,
    recipient_part,
    share_rows,
    stored_entries,
    stored_shares,
)
from sluicegate.admin.identity import Admin
from sluicegate.admin.services.content_queries import managed, managed_recipients
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import (
    grants,
    schemas,
    shared_assets,
    shared_tables,
    shares,
)


@dataclass(frozen=True, slots=True)
class ShareSummary:
    """A share without its content.

    Attributes:
        recipients: Names of the recipients that can read it, sorted.
    """

    share: Entry
    schemas: Sequence[Entry]
    tables: int
    assets: int
    recipients: Sequence[str]


class EntryListings:
    """Lists shares and recipients.

    Methods with `after` and `most` return a part of a list that is sorted by casefolded names: after
    this name (`None` to begin), and at most so many. All raise `Unavailable` if the database does not
    respond.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def shares(self, admin: Admin, after: str | None, most: int) -> list[ShareSummary]:
        """The shares of an administrator."""
        query = select(shares.c.name).where(
            managed(admin), true() if after is None else shares.c.key > after
        )
        async with self._store.read() as connection:
            found = await connection.execute(query.order_by(shares.c.key).limit(most))
            names = found.scalars().all()
            chosen = share_rows(names)
            mine = select(shares.c.id).where(chosen[shares])
            part = {schemas: schemas.c.share_id.in_(mine), grants: grants.c.share_id.in_(mine)}
            stored = StoredShares(await stored_entries(connection, joined(chosen, part)))
            tables, assets = [
                await _counts(connection, each, part) for each in (shared_tables, shared_assets)
            ]
        return [
            ShareSummary(
                share,
                stored.within("schema", share.key[1]),
                tables[share.id],
                assets[share.id],
                stored.recipients_of(share),
            )
            for share in map(stored.find, names)
        ]

    async def share(self, admin: Admin, name: str, *more: Part) -> tuple[StoredShares, Entry]:
        """A share without its content, and what else is requested."""
        admin.check_share(name)
        async with self._store.read() as connection:
            found = await stored_shares(connection, [name], managed(admin))
            stored = StoredShares(found | await stored_entries(connection, joined(*more)))
        return stored, stored.find(name)

    async def readers(self, share: Entry, after: str | None, most: int) -> Sequence[str]:
        """The names of the recipients that are granted a share."""
        granted = reads_share(shares.c.key == share.key[1][0])
        async with self._store.read() as connection:
            return await recipient_names(
                connection, RecipientSelection(granted, after=after, limit=most)
            )

    async def recipients(self, admin: Admin, after: str | None, most: int) -> list[dict[str, Any]]:
        """The recipients that an administrator manages, as in a shares file, with their names."""
        selection = RecipientSelection(managed_recipients(admin), after=after, limit=most)
        async with self._store.read() as connection:
            names = await recipient_names(connection, selection)
            stored = StoredShares(await stored_entries(connection, recipient_part(names)))
        found = (stored.recipient(name) for name in names)
        return [{"name": each.names[0]} | stored.recipient_content(each) for each in found if each]


async def _counts(connection: AsyncConnection, table: Table, part: Part) -> Mapping[str | None, int]:
    """The numbers of tables or other assets in the shares of some schemas, by the shares' ids."""
    query = (
        select(schemas.c.share_id, func.count())
        .select_from(table.join(schemas))
        .where(part[schemas])
        .group_by(schemas.c.share_id)
    )
    return Counter({row[0]: row[1] for row in await connection.execute(query)})
