"""The cookies of the console: one for the session, one for forms before the login, and messages."""

from __future__ import annotations

from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

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
