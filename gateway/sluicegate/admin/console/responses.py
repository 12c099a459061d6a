"""Responses of the console: pages, redirects, and errors as pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sluicegate.admin.console.messages import Message, Messages
from sluicegate.admin.console.rendering import Addresses, Templates
from sluicegate.admin.console.sessions.forms import FIELD, FormTokens
from sluicegate.admin.console.sessions.service import Cookies, Session
from sluicegate.admin.identity import Admin, Role
from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import error_response, page_headers


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the main navigation."""

    path: str
    label: str
    role: Role = "viewer"
    all_shares: bool = False

    def is_for(self, admin: Admin) -> bool:
        """Whether an administrator can open the page."""
        return admin.has_role(self.role) and not (self.all_shares and admin.shares is not None)


ENTRIES: Sequence[MenuEntry] = (
    MenuEntry("", "Overview"),
    MenuEntry("shares", "Shares"),
    MenuEntry("recipients", "Recipients"),
    MenuEntry("share-table", "Share a table", role="admin"),
    MenuEntry("usage", "Usage"),
    MenuEntry("tasks", "Tasks", all_shares=True),
    MenuEntry("audit", "Audit", role="admin"),
)


# With `no-referrer`, browsers would hide the origin of forms, which the gateway checks.
HEADERS: Mapping[str, str] = page_headers(
    referrer="same-origin", connect_src="'self'", img_src="'self'", script_src="'self'"
)
_TITLES = {
    400: "The input is not valid",
    401: "Log in again",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible",
    409: "Not possible now",
    412: "Changed in the meantime",
    413: "Too much input",
    429: "Too many requests",
    503: "Not available now",
}
_ADVICE = {
    400: "Go back, correct the input, and send it again.",
    403: "If you need this permission, contact an owner of the gateway.",
    404: "It may have been deleted or renamed. Start from the overview.",
    412: "Nothing was changed. Go back, load the page again, and repeat your change.",
    413: "Nothing was changed. Use the command line or the Admin API for large changes.",
    429: "Wait some seconds, and try again.",
    500: "Nothing is known about the outcome. Report the time to the operator of the gateway.",
    503: "Try again later. The log of the gateway contains the reason.",
}


class Pages:
    """Makes responses."""

    def __init__(
        self,
        addresses: Addresses,
        templates: Templates,
        cookies: Cookies,
        tokens: FormTokens,
        messages: Messages,
        entries: Sequence[MenuEntry] = ENTRIES,
    ) -> None:
        self.url = addresses.of
        self.is_own = addresses.is_own
        self.cookies = cookies
        self.tokens = tokens
        self._templates = templates
        self._messages = messages
        self._entries = entries

    def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        *,
        session: Session | None,
        status: int = 200,
        binding: bytes = b"",
    ) -> Response:
        """A page."""
        cookie = self.cookies.read(request, "message")
        message = self._messages.read(cookie, session) if cookie and session else None
        admin = None if session is None else session.admin
        entries = [] if admin is None else [each for each in self._entries if each.is_for(admin)]
        shared = {
            "me": admin,
            "entries": entries,
            "here": _entry(entries, request.url.path),
            "message": message,
            "token_field": FIELD,
            "form_token": lambda: self.tokens.issue(session.digest if session else binding),
        }
        text = self._templates.render(template, {**shared, **values})
        response = Response(text, status, dict(HEADERS), "text/html")
        if cookie is not None:
            self.cookies.remove(response, "message")
        return response

    def redirect(
        self, address: str, *, message: Message | None = None, to: Session | None = None
    ) -> Response:
        """A redirect to a GET, with a message for the session `to`."""
        response = RedirectResponse(address, 303, dict(HEADERS))
        if message is not None and to is not None:
            self.cookies.write(response, "message", self._messages.write(message, to))
        return response

    def refusal(self, request: Request, error: SluicegateError, session: Session | None) -> Response:
        """An error as a page, with the headers that its status requires."""
        headers = error_response(error).headers
        values = {
            "heading": _TITLES.get(error.status, "Something went wrong"),
            "lines": error.message.splitlines() or [error.code],
            "advice": _ADVICE.get(error.status, ""),
        }
        response = self.page(request, "error.html", values, session=session, status=error.status)
        for name in ("allow", "retry-after", "www-authenticate"):
            if name in headers:
                response.headers[name] = headers[name]
        return response


def _entry(entries: list[Any], path: str) -> str | None:
    """The path of the navigation's entry that a page belongs to."""
    below = f"{path.partition('/console')[2].strip('/')}/"
    found = [each.path for each in entries if below.startswith(f"{each.path}/")]
    return max(found, key=len, default=None)
