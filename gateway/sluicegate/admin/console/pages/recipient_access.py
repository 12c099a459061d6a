"""Changes the access of a recipient: activation links, revocation and restoration."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.access.activation.link import NewLink
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import PreconditionFailed
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.pages.recipient import access_revision
from sluicegate.admin.recipient_access import NewCredential
from sluicegate.config import Settings

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
