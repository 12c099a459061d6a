"""Serves activation links: a page that changes nothing, and the download, which uses the link."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.access.authentication.recipient_checks import check_recipient
from sluicegate.access.recipients.profile import ACTIVATION_PATH, profile_text
from sluicegate.api.errors import NotFound, RateLimited, SluicegateError, Unavailable
from sluicegate.audit.trail import (
    announce,
    note_changes,
    note_claim,
    note_issued,
    note_recipient,
    note_rule,
)
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.http.responses import (
    JSON,
    as_sluicegate_error,
    error_response,
    json_response,
)
from sluicegate.telemetry import name_recipient
from sluicegate.telemetry.context import note_error

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from sluicegate.access.activation.link import Link
    from sluicegate.access.activation.links import ActivationLinks
    from sluicegate.access.recipients.credentials import IssuedCredential

log = logging.getLogger(__name__)

_TITLES = {403: "Not allowed from here", 404: "Unknown link", 410: "This link has ended"}
_DAY = "public, max-age=86400"


class ActivationEndpoint:
    """Responds to browsers with pages, and to other clients with JSON.

    A GET never uses a link, because mail scanners and link previews send it, too.
    """

    def __init__(
        self,
        store: Store,
        settings: RecipientSettings,
        public_url: str,
        *,
        throttle: FailedLoginThrottle | None = None,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._store = store
        self._settings = settings
        self._public_url = public_url
        self._throttle = throttle or FailedLoginThrottle()
        self._now = now
        self._made: ActivationLinks | None = None

    def routes(self) -> list[Route]:
        """Return the routes of links and of the pages' style sheet."""
        return [
            Route(ACTIVATION_PATH, self._answer, methods=["GET", "POST"]),
            Route(f"{ACTIVATION_PATH}/style.css", _style, methods=["GET"]),
        ]

    async def _answer(self, request: Request) -> Response:
        try:
            return await (self._use(request) if request.method == "POST" else self._show(request))
        except Exception as error:
            return await self._refusal(request, as_sluicegate_error(error))

    async def _show(self, request: Request) -> Response:
        from sluicegate.access.activation.page import HEADERS, download_page

        link = await self._link(request)
        if not _is_browser(request):
            body = {"recipient": link.recipient.name, "expirationTime": iso_utc(link.expires_at)}
            return json_response(body, headers=HEADERS)
        page = download_page(self._public_url, link.recipient.name, link.expires_at)
        return Response(page, headers=dict(HEADERS), media_type="text/html")

    async def _use(self, request: Request) -> Response:
        from sluicegate.access.activation.page import HEADERS, PROFILE_FILE

        await self._link(request)  # without a transaction that other writers wait for
        await announce()
        issued = await self._links.use(_token(request))
        note_issued("profile", credential=issued.id, expires_at=issued.expires_at)
        note_changes(_changes(issued))
        log.info("the activation link of recipient '%s' was used", issued.recipient)
        profile = profile_text(issued, self._public_url)
        attached = {"Content-Disposition": f'attachment; filename="{PROFILE_FILE}"'}
        return _ProfileResponse(self._links, issued, profile, {**HEADERS, **attached})

    async def _link(self, request: Request) -> Link:
        """The link, which can be used now, from this address."""
        note_claim("activation")
        link = await self._links.find(_token(request))
        name_recipient(link.recipient.name)
        note_recipient(link.recipient.name, link.recipient.id, "activation")
        note_rule("activation link")
        if link.state == "used" and not link.is_in_use:
            log.warning(
                "the activation link of recipient '%s' was opened again after its use",
                link.recipient.name,
            )
        link.check_pending()
        check_recipient(link.recipient, "activation", request.client and request.client.host)
        return link

    @property
    def _links(self) -> ActivationLinks:
        if self._made is None:
            from sluicegate.access.activation.links import ActivationLinks

            self._made = ActivationLinks(self._store, self._settings, now=self._now)
        return self._made

    async def _refusal(self, request: Request, error: SluicegateError) -> Response:
        from sluicegate.access.activation.page import HEADERS

        if isinstance(error, NotFound) and not await self._throttle.delay():
            error = RateLimited("too many requests with unknown links; try again later")
            note_error(error)
        response = error_response(error)
        response.headers.update(HEADERS)
        if not _is_browser(request):
            return response
        headers = {**response.headers}
        del headers["content-length"], headers["content-type"]
        return Response(self._page_of(error), error.status, headers, media_type="text/html")

    def _page_of(self, error: SluicegateError) -> str:
        from sluicegate.access.activation.link import LinkUsed
        from sluicegate.access.activation.page import refusal_page, used_page

        title = _TITLES.get(error.status, "The profile is not available")
        if isinstance(error, LinkUsed):
            return used_page(title, error.message, self._public_url)
        return refusal_page(title, error.message)


class _ProfileResponse(Response):
    """A profile, after which its link works no more. If it can't leave, the link can be used again.

    Its record in the audit log is stored when it starts, and can fail.
    """

    def __init__(
        self,
        links: ActivationLinks,
        issued: IssuedCredential,
        profile: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(profile, headers=headers, media_type=JSON)
        self._links = links
        self._issued = issued

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the profile."""
        issued = self._issued
        try:
            await super().__call__(scope, receive, send)
        except Exception:
            try:
                await self._links.take_back(issued)
            except Unavailable as error:
                _warn("works again in a minute, because its profile was not delivered", issued, error)
            raise
        try:
            await self._links.delivered(issued)
        except Unavailable as error:
            _warn("can be used again, although its profile was delivered; rotate it", issued, error)


def _warn(outcome: str, issued: IssuedCredential, error: Unavailable) -> None:
    log.warning(
        "the activation link of recipient '%s' %s: %s", issued.recipient, outcome, error.for_operators
    )


def _changes(issued: IssuedCredential) -> Iterator[str]:
    if issued.replaces is not None:
        yield f"- credential {issued.replaces} of recipient {issued.recipient}: it was not delivered"
    yield f"+ credential {issued.id} of recipient {issued.recipient}"


def _token(request: Request) -> str:
    return request.query_params.get("token", "")


def _is_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


async def _style(request: Request) -> Response:
    from sluicegate.access.activation.style import STYLE

    return Response(STYLE, headers={"Cache-Control": _DAY}, media_type="text/css")
