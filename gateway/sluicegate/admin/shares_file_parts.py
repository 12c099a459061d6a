"""Parts of a shares file that are resources: shares, schemas, tables and recipients."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

from sluicegate.access.shares_file.entries import Entries, Entry
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.stored import (
    Part,
    grants_of_share,
    recipient_part,
    share_part,
)
from sluicegate.admin.call import READ_ONLY
from sluicegate.admin.identity import Admin
from sluicegate.api.errors import InvalidRequest, NotFound, SluicegateError
from sluicegate.config.yaml import nearest
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.statements.similar_names import similar_names
from sluicegate.database.tables import recipients, schemas, shares

Content = dict[str, Any]
_LEVELS = ("share", "schema", "table")


class SharedResource(Protocol):
    """A resource, which might not exist yet. Names are case-insensitive."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its names from the outermost."""

    def error_if_missing(self, admin: Admin) -> SluicegateError:
        """The error if it does not exist, or if the administrator does not know of it."""

    @property
    def part(self) -> Part:
        """The part of the database that its content depends on."""

    @property
    def removed_with_it(self) -> Part:
        """What else is removed with it."""

    @property
    def is_large(self) -> bool:
        """Whether its content can be so large that the event loop must not wait for it."""

    async def siblings(self, connection: AsyncConnection) -> list[str]:
        """Names of resources of its kind at the same place, which messages suggest."""

    async def suggested(self, connection: AsyncConnection, entries: Entries) -> Entries:
        """Entries that messages of `write` suggest, if one around the resource does not exist."""

    def check_admin(self, admin: Admin) -> None:
        """Check what does not depend on what is stored."""

    def read(self, stored: StoredShares) -> Content | None:
        """Its content as in a shares file, with its `name`; `None` if it does not exist."""

    def write(self, stored: StoredShares, content: Content | None) -> Content:
        """The shares file that declares it with new content, or without it (`None`)."""

    def replaces(self, entries: Entries, *, removed: bool) -> Entries:
        """The entries that the shares file of `write` replaces."""


@dataclass(frozen=True, slots=True)
class SharePart:
    """A share, one of its schemas, or a table of one."""

    names: tuple[str, ...]

    def error_if_missing(self, admin: Admin) -> SluicegateError:
        """The error if it does not exist."""
        return NotFound(f"there is no {_LEVELS[len(self.names) - 1]} '{'.'.join(self.names)}'")

    @property
    def part(self) -> Part:
        """It, with what is around it."""
        return share_part(*self.names)

    @property
    def removed_with_it(self) -> Part:
        """The grants of a share."""
        return grants_of_share(self.names[0]) if len(self.names) == 1 else {}

    @property
    def is_large(self) -> bool:
        """Shares and schemas can contain many tables."""
        return len(self.names) < len(_LEVELS)

    async def siblings(self, connection: AsyncConnection) -> list[str]:
        """Names of shares; none for a schema or table."""
        if len(self.names) > 1:
            return []
        return await similar_names(connection, shares, self.names[0])

    async def suggested(self, connection: AsyncConnection, entries: Entries) -> Entries:
        """The schemas of the share, if that of a table is not among the entries."""
        keys = [name_key(name) for name in self.names]
        share = entries.get(("share", (keys[0],)))
        if len(keys) < len(_LEVELS) or share is None or ("schema", tuple(keys[:2])) in entries:
            return {}
        of_share = schemas.c.share_id == share.id
        names = await similar_names(connection, schemas, self.names[1], of_share)
        found = (Entry("schema", (share.names[0], name), {}) for name in names)
        return {entry.key: entry for entry in found}

    def check_admin(self, admin: Admin) -> None:
        """Check that an administrator manages the share."""
        admin.check_share(self.names[0])

    def read(self, stored: StoredShares) -> Content | None:
        """The content, with its `name`."""
        share = _share(stored, self.names[0])
        if share is None:
            return None
        try:
            name, content = self._inner(share["name"], share, len(self.names))
        except NotFound:
            return None
        return {"name": name} | content

    def write(self, stored: StoredShares, content: Content | None) -> Content:
        """The shares file with the entire share."""
        share = _share(stored, self.names[0])
        if len(self.names) == 1:
            name = self.names[0] if share is None else share["name"]
            return {"shares": {} if content is None else {name: content}}
        if share is None:
            raise NotFound(f"there is no share '{self.names[0]}'")
        share = deepcopy(share)
        name = share.pop("name")
        _, around = self._inner(name, share, len(self.names) - 1)
        members = around.setdefault(f"{_LEVELS[len(self.names) - 1]}s", {})
        found = same_name(members, self.names[-1])
        if content is not None:
            members[found or self.names[-1]] = content
        elif found is not None:
            del members[found]
        return {"shares": {name: share}}

    def replaces(self, entries: Entries, *, removed: bool) -> Entries:
        """The share with its content, and also its grants if it is removed."""
        key = name_key(self.names[0])
        gone = removed and len(self.names) == 1
        return {
            (kind, names): entry
            for (kind, names), entry in entries.items()
            if (
                gone and names[1] == key if kind == "grant" else kind != "recipient" and names[0] == key
            )
        }

    def _inner(self, name: str, share: Content, depth: int) -> tuple[str, Content]:
        content = share
        for level, wanted in zip(_LEVELS[1:depth], self.names[1:depth], strict=True):
            members = content.get(f"{level}s", {})
            found = same_name(members, wanted)
            if found is None:
                raise _missing(level, wanted, list(members))
            name, content = found, members[found]
        return name, content


@dataclass(frozen=True, slots=True)
class RecipientPart:
    """A recipient with its grants."""

    recipient: str

    @property
    def names(self) -> tuple[str, ...]:
        """Its name."""
        return (self.recipient,)

    def error_if_missing(self, admin: Admin) -> SluicegateError:
        """The error if it does not exist, which is the same if the administrator does not manage it."""
        if admin.shares is not None:
            return admin.denied_recipient(self.recipient)
        return NotFound(f"there is no recipient '{self.recipient}'")

    @property
    def part(self) -> Part:
        """It, with its grants and their shares."""
        return recipient_part([self.recipient])

    @property
    def removed_with_it(self) -> Part:
        """Only its grants, which are in `part`."""
        return {}

    @property
    def is_large(self) -> bool:
        """A recipient has few grants."""
        return False

    async def siblings(self, connection: AsyncConnection) -> list[str]:
        """Names of recipients."""
        return await similar_names(connection, recipients, self.recipient)

    async def suggested(self, connection: AsyncConnection, entries: Entries) -> Entries:
        """None: nothing is around a recipient."""
        return {}

    def check_admin(self, admin: Admin) -> None:
        """Entries that an administrator can see contain only recipients that it manages."""

    def read(self, stored: StoredShares) -> Content | None:
        """The content, with its `name`."""
        found = stored.recipient(self.recipient)
        return None if found is None else {"name": found.names[0]} | stored.recipient_content(found)

    def write(self, stored: StoredShares, content: Content | None) -> Content:
        """The shares file with the recipient."""
        found = self.read(stored)
        name = self.recipient if found is None else found["name"]
        return {"recipients": {} if content is None else {name: content}}

    def replaces(self, entries: Entries, *, removed: bool) -> Entries:
        """The recipient and its grants."""
        key = name_key(self.recipient)
        return {
            (kind, names): entry
            for (kind, names), entry in entries.items()
            if kind in ("recipient", "grant") and names[0] == key
        }


def without_name(content: Content, name: str) -> Content:
    """The content that a client sent, without what only responses contain."""
    if "name" in content and (
        not isinstance(content["name"], str) or name_key(content["name"]) != name_key(name)
    ):
        raise InvalidRequest(f"name must be '{name}', as in the path; resources cannot be renamed")
    return {key: value for key, value in content.items() if key not in READ_ONLY}


def with_kept(content: Content, before: Content | None, kept: Collection[str]) -> Content:
    """New content, with some keys of the content before, unless the new content has them."""
    found = {key: value for key, value in (before or {}).items() if key in kept}
    return found | content


def _share(stored: StoredShares, name: str) -> Content | None:
    try:
        share = stored.find(name)
    except NotFound:
        return None
    return {"name": share.names[0]} | stored.content(share)


def same_name(members: Content, name: str) -> str | None:
    """The spelling of a name among the keys of a content, or `None`."""
    key = name_key(name)
    return next((each for each in members if name_key(each) == key), None)


def _missing(kind: str, name: str, known: list[str]) -> NotFound:
    return NotFound(f"there is no {kind} '{name}'{nearest(name, known)}")
