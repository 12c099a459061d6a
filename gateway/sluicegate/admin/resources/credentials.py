"""The access of recipients: their credentials, activation links, and revocation."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.access.activation.links import Link, NewLink
from sluicegate.access.recipients.details import CredentialDetails
from sluicegate.access.recipients.profile import profile_text
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.recipient_access import NewCredential, RecipientAccess

_PATH = "/recipients/{recipient}"


class CredentialsResource:
    """Serves the access of recipients.

    Args:
        access: Reads and changes it.
        public_url: The URL at which recipients reach the gateway.
    """

    def __init__(self, access: RecipientAccess, public_url: str) -> None:
        self._access = access
        self._public_url = public_url

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET",
                f"{_PATH}/access",
                self._show,
                "viewer",
                "getAccess",
                "Get the state and the credentials of a recipient, without secrets",
                "Access",
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_PATH}/tokens",
                self._issue,
                "admin",
                "issueCredential",
                "Issue a credential, as an activation link or as a profile",
                "IssuedCredential",
                (201,),
                body=NewCredential,
                errors=(404,),
            ),
            AdminRoute(
                "DELETE",
                f"{_PATH}/tokens/{{credential}}",
                self._revoke_one,
                "admin",
                "revokeCredential",
                "Revoke one token or OAuth client",
                status=(204,),
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_PATH}/revoke",
                self._revoke,
                "admin",
                "revokeRecipient",
                "Revoke all access of a recipient",
                "Revoked",
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_PATH}/restore",
                self._restore,
                "admin",
                "restoreRecipient",
                "Restore access of a revoked recipient with tokens of other issuers",
                status=(204,),
                errors=(404,),
            ),
        ]

    async def _show(self, call: AdminCall) -> Response:
        state = await self._access.state(call.admin, call.name("recipient"))
        found, link = state.details, state.link
        return answered(
            {
                "id": found.id,
                "name": found.name,
                "state": found.state,
                "created_at": iso_utc(found.created_at),
                "revoked_at": _time(found.revoked_at),
                "last_issued_at": _time(found.last_issued_at),
                "activation_link": None if link is None else _link(link),
                "credentials": [_credential(each) for each in found.credentials],
            }
        )

    async def _issue(self, call: AdminCall) -> Response:
        wanted = await call.parse(NewCredential)
        made = await self._access.issue(call.admin, call.name("recipient"), wanted)
        expiry = {"expires_at": iso_utc(made.expires_at)}
        if isinstance(made, NewLink):
            return answered({"activation_url": made.url(self._public_url), **expiry}, 201)
        profile = orjson.loads(profile_text(made, self._public_url))
        return answered({"profile": profile, **expiry}, 201)

    async def _revoke_one(self, call: AdminCall) -> Response:
        recipient, credential = call.name("recipient"), call.name("credential")
        await self._access.revoke_credential(call.admin, recipient, credential)
        return Response(status_code=204)

    async def _revoke(self, call: AdminCall) -> Response:
        return answered({"ended": await self._access.revoke(call.admin, call.name("recipient"))})

    async def _restore(self, call: AdminCall) -> Response:
        await self._access.restore(call.admin, call.name("recipient"))
        return Response(status_code=204)


def _link(link: Link) -> dict[str, object]:
    return {
        "state": link.state,
        "expires_at": iso_utc(link.expires_at),
        "used_at": _time(link.used_at),
    }


def _credential(credential: CredentialDetails) -> dict[str, object]:
    return {
        "id": credential.id,
        "kind": credential.kind,
        "state": credential.state,
        "created_at": iso_utc(credential.created_at),
        "expires_at": iso_utc(credential.expires_at),
        "revoked_at": _time(credential.revoked_at),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else iso_utc(at)
