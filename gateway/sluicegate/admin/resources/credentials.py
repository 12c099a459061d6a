"""The credentials of recipients: issued as profiles or activation links, and revoked."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.access.activation.link import NewLink
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.profile import profile_text
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.recipient_access import NewCredential, NewRecipient, RecipientAccess

_PATH = "/recipients/{recipient}"


class CredentialsResource:
    """Serves the credentials of recipients."""

    def __init__(self, access: RecipientAccess, public_url: str) -> None:
        self._access = access
        self._public_url = public_url

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "POST",
                "/recipients",
                self._create,
                "admin",
                "createRecipient",
                all_shares=True,
                body=NewRecipient,
            ),
            AdminRoute(
                "POST", f"{_PATH}/tokens", self._issue, "admin", "issueCredential", body=NewCredential
            ),
            AdminRoute(
                "DELETE",
                f"{_PATH}/tokens/{{credential}}",
                self._revoke_one,
                "admin",
                "revokeCredential",
            ),
            AdminRoute("POST", f"{_PATH}/revoke", self._revoke, "admin", "revokeRecipient"),
            AdminRoute("POST", f"{_PATH}/restore", self._restore, "admin", "restoreRecipient"),
        ]

    async def _create(self, call: AdminCall) -> Response:
        return self._issued(await self._access.create(await call.parse(NewRecipient)))

    async def _issue(self, call: AdminCall) -> Response:
        wanted = await call.parse(NewCredential)
        return self._issued(await self._access.issue(call.admin, call.name("recipient"), wanted))

    def _issued(self, made: NewLink | IssuedCredential) -> Response:
        common = {"recipient": made.recipient, "expires_at": iso_utc(made.expires_at)}
        if isinstance(made, NewLink):
            return answered({"activation_url": made.url(self._public_url)} | common, 201)
        profile = orjson.loads(profile_text(made, self._public_url))
        return answered({"profile": profile} | common, 201)

    async def _revoke_one(self, call: AdminCall) -> Response:
        recipient, credential = call.name("recipient"), call.name("credential")
        await self._access.revoke_credential(call.admin, recipient, credential)
        return Response(status_code=204)

    async def _revoke(self, call: AdminCall) -> Response:
        return answered({"ended": await self._access.revoke(call.admin, call.name("recipient"))})

    async def _restore(self, call: AdminCall) -> Response:
        await self._access.restore(call.admin, call.name("recipient"))
        return Response(status_code=204)
