"""Creates, lists and verifies the tokens of administrators. Only their SHA-256 is stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, delete, insert, select

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.secrets import digest
from sluicegate.admin.identity import ROLES, Admin, Role
from sluicegate.api.errors import InvalidRequest, NotFound, Unauthenticated
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.database.admin_tables import admins
from sluicegate.database.names import check_name, name_key

_PREFIX = "slgadm_"
_TOKEN = re.compile(r"slgadm_[A-Za-z0-9_-]{43}")
_RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new administrator with its token, which is known only now."""

    admin: AdminRecord
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AdminRecord:
    """An administrator with a token. Times are epoch milliseconds.

    Attributes:
        shares: Names of the only shares that it manages; `None` for all.
    """

    name: str
    role: Role
    shares: tuple[str, ...] | None
    created_at: int
    expires_at: int


class AdminTokens:
    """The service for `sluicegate admin` and the Admin API.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(self, store: Store, *, token_lifetime: int, now: Callable[[], int] = epoch_ms) -> None:
        self._store = store
        self._token_lifetime = token_lifetime
        self._now = now

    async def create(
        self,
        name: str,
        role: Role,
        *,
        shares: Sequence[str] | None = None,
        token_lifetime: int | None = None,
        replace: bool = False,
    ) -> NewToken:
        """Create an administrator with a token."""
        lifetime = self._token_lifetime if token_lifetime is None else token_lifetime
        _check(name, role, shares, lifetime)
        now, token = self._now(), _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        names = None if shares is None else tuple(dict.fromkeys(shares))
        record = AdminRecord(name, role, names, now, now + lifetime * 1000)
        async with self._store.write([]) as connection:
            mine = admins.c.key == name_key(name)
            if replace:
                await connection.execute(delete(admins).where(mine))
            elif (await connection.execute(select(admins.c.id).where(mine))).one_or_none():
                raise InvalidRequest(f"there is an administrator '{name}' already; delete it first")
            await connection.execute(
                insert(admins).values(
                    id=str(uuid4()),
                    key=name_key(name),
                    name=name,
                    role=role,
                    shares=None if names is None else list(names),
                    digest=digest(token),
                    created_at=record.created_at,
                    expires_at=record.expires_at,
                )
            )
        return NewToken(record, token)

    async def list(self) -> list[AdminRecord]:
        """All administrators with tokens, also expired ones, sorted by casefolded name."""
        async with self._store.read() as connection:
            found = (await connection.execute(select(admins))).all()
        return [_record(row) for row in sorted(found, key=lambda row: row.key)]

    async def delete(self, name: str) -> None:
        """Delete an administrator. Its token is invalid immediately."""
        async with self._store.write([]) as connection:
            mine = admins.c.key == name_key(name)
            if not (await connection.execute(delete(admins).where(mine))).rowcount:
                known = await connection.execute(select(admins.c.name).order_by(admins.c.key))
                near = nearest(name, known.scalars().all())
                raise NotFound(f"there is no administrator '{name}'{near}")

    async def authenticate(self, token: str) -> Admin | None:
        """The administrator of a token; `None` for tokens in other formats."""
        if not _TOKEN.fullmatch(token):
            return None
        async with self._store.read() as connection:
            query = select(admins).where(admins.c.digest == digest(token))
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            raise Unauthenticated("the administrator's token is unknown: an owner can create a new one")
        if row.expires_at <= self._now():
            raise Unauthenticated("the administrator's token has expired: create a new one")
        return admin_of(row)


def admin_of(row: Row[Any]) -> Admin:
    """The administrator of a row of `admins`, whose token may have expired."""
    shares = None if row.shares is None else frozenset(name_key(share) for share in row.shares)
    return Admin(row.name, row.role, shares, "token", row.expires_at)


def _record(row: Row[Any]) -> AdminRecord:
    shares = None if row.shares is None else tuple(row.shares)
    return AdminRecord(row.name, row.role, shares, row.created_at, row.expires_at)


def _check(name: str, role: str, shares: Sequence[str] | None, lifetime: int) -> None:
    try:
        check_name("recipient", name)
        for share in shares or ():
            check_name("entry", share)
    except ValueError as error:
        message = str(error).replace("recipient's", "administrator's").replace("a admin", "an admin")
        raise InvalidRequest(message) from None
    if role not in ROLES:
        raise InvalidRequest(f"there is no role '{role}'{nearest(role, ROLES)}")
    if shares is not None and not shares:
        raise InvalidRequest("shares is empty: name at least one share, or leave it out for all")
    if role == "owner" and shares is not None:
        raise InvalidRequest("an owner manages all shares: leave out shares, or choose another role")
    if not 0 < lifetime <= LONGEST_TOKEN:
        raise InvalidRequest("a token's lifetime is between 1s and 365d")
