"""The page of a recipient: its grants, limits and credentials, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.activation.link import NewLink
from sluicegate.access.limits.rows import RecipientUse, recipient_use
from sluicegate.access.recipients.details import oidc_identities
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import PreconditionFailed, entity_tag
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.recipient_access import NewCredential, RecipientState
from sluicegate.admin.shares_file_parts import RecipientPart
from sluicegate.config import Settings
from sluicegate.database import Store

_DAY = 86_400_000
_MOST_CREDENTIALS = 50
_MOST_OFFERED = 1000


class RecipientPage:
    """Shows a recipient."""

    def __init__(
        self, admin: AdminApi, store: Store, settings: Settings, *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._admin = admin
        self._store = store
        self._settings = settings
        self._now = now

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/recipients/{recipient}", self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        place = RecipientPart(call.name("recipient"))
        content = await self._admin.editor.read(call.admin, place)
        state = await self._admin.recipient_access.state(call.admin, place.recipient)
        async with self._store.read() as connection:
            use = await recipient_use(
                connection, place.recipient, self._settings.limits.recipient, self._now() // _DAY
            )
        can_change = call.admin.has_role("admin")
        granted = set(state.details.shares)
        most = _MOST_OFFERED + len(granted)
        offered = await self._admin.contents.names(call.admin, most=most) if can_change else ()
        return call.page(
            "recipient.html",
            recipient=state.details,
            credentials=state.details.credentials[:_MOST_CREDENTIALS],
            more=max(0, len(state.details.credentials) - _MOST_CREDENTIALS),
            link=state.link,
            limited=limited_access(state),
            use=use,
            concurrent=self._concurrent(use),
            identities=oidc_identities(self._settings.authentication.oidc, state.details.name),
            grace=self._settings.recipients.rotation_grace,
            lifetime=state.details.token_lifetime or self._settings.recipients.token_lifetime,
            link_lifetime=self._settings.recipients.activation_lifetime,
            can_change=can_change,
            offered=[share for share in offered if share not in granted][:_MOST_OFFERED],
            revision=entity_tag(content),
            access_revision=access_revision(state),
        )

    def _concurrent(self, use: RecipientUse) -> int:
        return use.limits.concurrent_requests or self._settings.server.max_requests_per_recipient


def limited_access(state: RecipientState) -> int:
    """How many valid credentials and unused links administrators of only some shares issued."""
    credentials = sum(each.limited for each in state.details.credentials if each.state == "valid")
    link = state.link
    return credentials + (link is not None and link.limited and link.state == "pending")


def access_revision(state: RecipientState) -> str:
    """An entity tag of the credentials of a recipient and of its newest link."""
    details, link = state.details, state.link
    seen: dict[str, Any] = {
        "id": details.id,
        "revoked_at": details.revoked_at,
        "credentials": [[each.id, each.state, each.expires_at] for each in details.credentials],
        "link": None if link is None else [link.state, link.expires_at, link.used_at],
    }
    return entity_tag(seen)


_ONE = "/recipients/{recipient}"
_CREDENTIAL = f"{_ONE}/credentials/{{credential}}/revoke"


class RecipientAccessForms:
    """The forms that change the access of a recipient."""

    def __init__(self, admin: AdminApi, settings: Settings) -> None:
        self._access = admin.recipient_access
        self._settings = settings

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("POST", f"{_ONE}/link", self._create_link, "admin"),
            ConsoleRoute("POST", f"{_ONE}/withdraw", self._withdraw, "admin"),
            ConsoleRoute("GET", f"{_ONE}/revoke", self._confirm_revoke, "admin"),
            ConsoleRoute("POST", f"{_ONE}/revoke", self._revoke, "admin"),
            ConsoleRoute("GET", f"{_ONE}/restore", self._confirm_restore, "admin"),
            ConsoleRoute("POST", f"{_ONE}/restore", self._restore, "admin"),
            ConsoleRoute("GET", _CREDENTIAL, self._confirm_revoke_one, "admin"),
            ConsoleRoute("POST", _CREDENTIAL, self._revoke_one, "admin"),
        ]

    async def _create_link(self, call: ConsoleCall) -> Response:
        wanted = call.parse(NewCredential, "kind", "grace", "token_lifetime")
        await self._check(call)
        made = await self._access.issue(call.admin, call.name("recipient"), wanted)
        assert isinstance(made, NewLink)  # noqa: S101 # the form cannot request a profile
        # Not after a redirect: the link is in this response only, and is stored nowhere.
        return call.page(
            "activation-link.html",
            recipient=made.recipient,
            address=made.url(self._settings.public_url),
            expires_at=made.expires_at,
        )

    async def _withdraw(self, call: ConsoleCall) -> Response:
        await self._check(call)
        await self._access.withdraw_link(call.admin, call.name("recipient"))
        return self._shown(call, "the activation link was withdrawn")

    async def _confirm_revoke(self, call: ConsoleCall) -> Response:
        return await self._confirm(
            call,
            heading="Revoke all access of '{}'?",
            lines=[
                "All of its tokens, OAuth clients and unused activation links end now. Tokens of other "
                "issuers are refused, too.",
                "URLs and credentials of stores that it already has remain valid until they expire.",
            ],
            button="Revoke all access",
        )

    async def _revoke(self, call: ConsoleCall) -> Response:
        await self._check(call)
        ended = await self._access.revoke(call.admin, call.name("recipient"))
        plural = "" if ended == 1 else "s"
        return self._shown(call, f"all access was revoked, with {ended} valid credential{plural}")

    async def _confirm_restore(self, call: ConsoleCall) -> Response:
        return await self._confirm(
            call,
            heading="Restore the access of '{}'?",
            lines=[
                "It can then read with tokens of other issuers again. Credentials that were revoked "
                "stay revoked: create an activation link to issue a new one.",
            ],
            button="Restore access",
        )

    async def _restore(self, call: ConsoleCall) -> Response:
        await self._check(call)
        await self._access.restore(call.admin, call.name("recipient"))
        return self._shown(call, "the access was restored")

    async def _confirm_revoke_one(self, call: ConsoleCall) -> Response:
        return await self._confirm(
            call,
            heading="Revoke a credential of '{}'?",
            lines=[
                f"The credential {call.name('credential')} is refused from now on. Other access of the "
                "recipient does not change.",
            ],
            button="Revoke the credential",
        )

    async def _revoke_one(self, call: ConsoleCall) -> Response:
        recipient, credential = call.name("recipient"), call.name("credential")
        await self._check(call)
        await self._access.revoke_credential(call.admin, recipient, credential)
        return self._shown(call, f"the credential {credential} was revoked")

    async def _check(self, call: ConsoleCall) -> None:
        """Check that no one has changed the access since the form was shown."""
        state = await self._access.state(call.admin, call.name("recipient"))
        if call.form.text("revision") != access_revision(state):
            raise PreconditionFailed(
                "the access of the recipient was changed since this page was loaded"
            )

    async def _confirm(
        self, call: ConsoleCall, *, heading: str, lines: list[str], button: str
    ) -> Response:
        state = await self._access.state(call.admin, call.name("recipient"))
        name = state.details.name
        return call.confirmation(
            heading.replace("{}", name),
            lines,
            button,
            back=call.url("recipients", name),
            revision=access_revision(state),
        )

    def _shown(self, call: ConsoleCall, message: str) -> Response:
        return call.redirect("recipients", call.name("recipient"), message=message)
