"""The login and the logout."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluicegate.admin.console.endpoint import Guard
from sluicegate.admin.console.login.oidc import OidcLogin
from sluicegate.admin.console.rendering import PREFIX
from sluicegate.admin.console.sessions.forms import FIELD, read_form
from sluicegate.admin.identity import Admin
from sluicegate.api.errors import RateLimited, SluicegateError, Unauthenticated
from sluicegate.audit.trail import note_admin
from sluicegate.http.responses import as_sluicegate_error
from sluicegate.telemetry import name_recipient
from sluicegate.telemetry.context import note_error

log = logging.getLogger(__name__)

_PATH = f"{PREFIX}/login"
_FORM_BYTES = 16_384
_Handler = Callable[[Request], Awaitable[Response]]


class LoginPages:
    """Starts and ends sessions."""

    def __init__(self, guard: Guard, oidc: OidcLogin | None, label: str) -> None:
        self._guard = guard
        self._pages = guard.pages
        self._oidc = oidc
        self._label = label

    def routes(self) -> list[BaseRoute]:
        """The routes, which need no session."""
        found = [
            Route(_PATH, self._safely(self._show), methods=["GET"]),
            Route(_PATH, self._safely(self._log_in), methods=["POST"]),
            Route(f"{PREFIX}/logout", self._safely(self._log_out), methods=["POST"]),
        ]
        if self._oidc is not None:
            found += [
                Route(f"{_PATH}/start", self._safely(self._start), methods=["GET"]),
                Route(f"{_PATH}/callback", self._safely(self._callback), methods=["GET"]),
            ]
        return list(found)

    def _safely(self, handler: _Handler) -> _Handler:
        """The handler, with the checks of all pages, and errors as pages."""

        async def respond(request: Request) -> Response:
            try:
                self._guard.check_sender(request)
                return await handler(request)
            except Exception as error:
                return self._pages.refusal(request, as_sluicegate_error(error), None)

        return respond

    async def _show(self, request: Request) -> Response:
        if await self._guard.session(request) is not None:
            return self._pages.redirect(self._wanted(request.query_params.get("next")))
        return self._form(request, request.query_params.get("next"))

    def _form(
        self, request: Request, wanted: str | None, error: SluicegateError | None = None
    ) -> Response:
        """The form, bound to a cookie, so that another site cannot log its visitors in."""
        binding = self._pages.cookies.read(request, "login") or secrets.token_urlsafe(32)
        response = self._pages.page(
            request,
            "login.html",
            {
                "error": None if error is None else error.message,
                "next": wanted if wanted and self._pages.is_own(wanted) else "",
                "issuer": None if self._oidc is None else self._label,
            },
            session=None,
            status=200 if error is None else error.status,
            binding=binding.encode(),
        )
        if error is not None and error.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        self._pages.cookies.write(response, "login", binding)
        return response

    async def _log_in(self, request: Request) -> Response:
        form = await read_form(request, _FORM_BYTES)
        binding = self._pages.cookies.read(request, "login") or ""
        self._pages.tokens.check(form.text(FIELD), binding.encode())
        token = form.text("token")
        address = request.client and request.client.host
        try:
            headers = {"authorization": f"Bearer {token}" if token else ""}
            admin = await self._guard.authentication.authenticate(headers, address)
            if admin.method != "token":
                raise Unauthenticated("the token is not one of an administrator of the gateway")
            cookie = await self._guard.sessions.start_for_token(token)
        except (Unauthenticated, RateLimited) as error:
            note_error(error)
            log.info("a login to the console failed: %s", error.message)
            return self._form(request, form.text("next"), error)
        return await self._started(request, admin, cookie, form.text("next"))

    async def _started(
        self, request: Request, admin: Admin, cookie: str, wanted: str | None
    ) -> Response:
        """A new session, which replaces an earlier one of this browser."""
        earlier = self._pages.cookies.read(request, "session")
        if earlier is not None:
            await self._guard.sessions.end(earlier)
        note_admin(admin.name, admin.method, admin.role)
        name_recipient(f"admin:{admin.name}")
        log.info("%s '%s' logged in to the console by %s", admin.role, admin.name, admin.method)
        response = self._pages.redirect(self._wanted(wanted))
        self._pages.cookies.write(response, "session", cookie)
        self._pages.cookies.remove(response, "login")
        self._pages.cookies.remove(response, "oidc")
        return response

    async def _log_out(self, request: Request) -> Response:
        session = await self._guard.session(request)
        if session is not None:
            note_admin(session.admin.name, session.admin.method, session.admin.role)
            form = await read_form(request, _FORM_BYTES)
            self._pages.tokens.check(form.text(FIELD), session.digest)
            await self._guard.sessions.end(self._pages.cookies.read(request, "session") or "")
            log.info("%s '%s' logged out of the console", session.admin.role, session.admin.name)
        response = self._pages.redirect(self._pages.url("login"))
        self._pages.cookies.remove(response, "session")
        self._pages.cookies.remove(response, "message")
        return response

    async def _start(self, request: Request) -> Response:
        assert self._oidc is not None  # noqa: S101 # the route exists only then
        address, state = await self._oidc.start(self._wanted(request.query_params.get("next")))
        response = self._pages.redirect(address)
        self._pages.cookies.write(response, "oidc", state, max_age=self._oidc.lifetime)
        return response

    async def _callback(self, request: Request) -> Response:
        assert self._oidc is not None  # noqa: S101 # the route exists only then
        state = self._pages.cookies.read(request, "oidc") or ""
        found = await self._oidc.finish(request.query_params, state)
        cookie = await self._guard.sessions.start_for_identity(found.identity)
        return await self._started(request, found.admin, cookie, found.wanted)

    def _wanted(self, address: str | None) -> str:
        return address if address and self._pages.is_own(address) else self._pages.url()
