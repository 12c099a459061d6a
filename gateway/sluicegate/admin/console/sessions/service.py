"""Creates, checks and ends sessions. Only the SHA-256 of the cookie's value is stored."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sqlalchemy import Row, delete, insert, select, update
from starlette.requests import Request
from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.secrets import digest
from sluicegate.admin.identity import Admin
from sluicegate.admin.oidc.identity import AdminIdentity
from sluicegate.admin.tokens import admin_of
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.config.sections.admin import AdminIssuerSettings, AdminSettings, ConsoleSettings
from sluicegate.database import Store
from sluicegate.database.admin_tables import admins, console_sessions
from sluicegate.database.async_engine import AsyncConnection

CookieName = Literal["session", "login", "oidc", "message"]


class Cookies:
    """Reads and sets cookies. Scripts cannot read them, and other sites' forms are sent without them.

    They are `Lax`, because the console would not get a `Strict` cookie after a login at an issuer.
    """

    def __init__(self, public_url: str) -> None:
        self._secure = public_url.startswith("https:")
        self._prefix = "__Host-" if self._secure else ""

    def read(self, request: Request, name: CookieName) -> str | None:
        """The value of a cookie, or `None`."""
        return request.cookies.get(self._full(name))

    def write(
        self, response: Response, name: CookieName, value: str, *, max_age: int | None = None
    ) -> None:
        """Set a cookie."""
        response.set_cookie(
            self._full(name),
            value,
            max_age=max_age,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )

    def remove(self, response: Response, name: CookieName) -> None:
        """Remove a cookie."""
        response.delete_cookie(
            self._full(name), path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def _full(self, name: CookieName) -> str:
        return f"{self._prefix}sluicegate-{name}"


_RANDOM_BYTES = 32
# Milliseconds. The last use is stored no more often, so that most requests only read.
_USE_INTERVAL = 30_000


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is valid now.

    Attributes:
        ends_at: When it ends at the latest, epoch milliseconds.
    """

    digest: bytes = field(repr=False)
    admin: Admin
    ends_at: int


class Sessions:
    """The sessions of all processes and replicas, in the database.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(
        self,
        store: Store,
        admin: AdminSettings,
        console: ConsoleSettings,
        *,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._store = store
        self._issuers: Mapping[str, AdminIssuerSettings] = {each.issuer: each for each in admin.oidc}
        self._idle = console.idle_timeout * 1000
        self._lifetime = console.session_lifetime * 1000
        self._now = now

    async def start_for_token(self, token: str) -> str:
        """Start a session of the administrator with a token, and return the value of its cookie."""
        async with self._store.append() as connection:
            query = select(admins).where(admins.c.digest == digest(token))
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                raise Unauthenticated("the administrator's token is unknown: an owner can create one")
            ends_at = min(row.expires_at, self._now() + self._lifetime)
            return await self._insert(connection, ends_at, admin_id=row.id)

    async def start_for_identity(self, identity: AdminIdentity) -> str:
        """Start a session of an administrator of an issuer, and return the value of its cookie."""
        async with self._store.append() as connection:
            ends_at = self._now() + self._lifetime
            return await self._insert(connection, ends_at, identity=asdict(identity))

    async def find(self, cookie: str) -> Session | None:
        """The session of a cookie; `None` if it has ended.

        It ends when it is idle or too old, when its administrator is deleted or the token expires, and
        when the configuration no longer maps a role to it. All are checked for each request.
        """
        key, now = digest(cookie), self._now()
        query = select(console_sessions).where(console_sessions.c.digest == key)
        async with self._store.read() as connection:
            row = (await connection.execute(query)).one_or_none()
            if row is None or row.expires_at <= now or row.used_at + self._idle <= now:
                return None
            admin = await self._admin(connection, row)
        if admin is None or admin.expires_at <= now:
            return None
        if row.used_at + min(_USE_INTERVAL, self._idle // 4) <= now:
            await self._use(key, now)
        return Session(key, admin, min(row.expires_at, admin.expires_at))

    async def end(self, cookie: str) -> None:
        """End the session of a cookie, if there is one."""
        async with self._store.append() as connection:
            mine = console_sessions.c.digest == digest(cookie)
            await connection.execute(delete(console_sessions).where(mine))

    async def _insert(self, connection: AsyncConnection, ends_at: int, **owner: Any) -> str:
        cookie, now = secrets.token_urlsafe(_RANDOM_BYTES), self._now()
        ended = (console_sessions.c.expires_at <= now) | (
            console_sessions.c.used_at <= now - self._idle
        )
        await connection.execute(delete(console_sessions).where(ended))
        await connection.execute(
            insert(console_sessions).values(
                digest=digest(cookie), created_at=now, expires_at=ends_at, used_at=now, **owner
            )
        )
        return cookie

    async def _admin(self, connection: AsyncConnection, row: Row[Any]) -> Admin | None:
        if row.admin_id is not None:
            query = select(admins).where(admins.c.id == row.admin_id)
            found = (await connection.execute(query)).one_or_none()
            return None if found is None else admin_of(found)
        identity = AdminIdentity(**row.identity | {"values": tuple(row.identity["values"])})
        settings = self._issuers.get(identity.issuer)
        try:
            return None if settings is None else identity.admin(settings, row.expires_at)
        except PermissionDenied:
            return None

    async def _use(self, key: bytes, now: int) -> None:
        async with self._store.append() as connection:
            mine = console_sessions.c.digest == key
            await connection.execute(update(console_sessions).where(mine).values(used_at=now))
