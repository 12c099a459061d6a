"""The access of recipients: their credentials, activation links, and revocation."""

from __future__ import annotations

from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate._util.units import Duration
from sluicegate.access.activation.links import ActivationLinks, Link, NewLink
from sluicegate.access.recipients.details import CredentialDetails, recipient_details
from sluicegate.access.recipients.profile import profile_text
from sluicegate.access.recipients.service import Recipients
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.places import RecipientPlace
from sluicegate.audit.trail import note_changes, note_issued
from sluicegate.config import Settings
from sluicegate.config.model import TokenLifetime
from sluicegate.database import Store
from sluicegate.database.tables import CredentialKind

_PATH = "/recipients/{recipient}"


class NewCredential(BaseModel):
    """A credential to issue. Older ones end after the grace period."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deliver: Literal["activation", "profile"] = Field(
        default="activation",
        description="Return the profile, or a link with which the recipient downloads it once.",
    )
    kind: CredentialKind = Field(default="bearer", description="A bearer token or an OAuth client.")
    grace: Duration | None = Field(
        default=None, ge=0, description="How long older credentials remain valid, such as 24h."
    )
    token_lifetime: TokenLifetime | None = Field(
        default=None, description="How long the credential is valid, such as 90d; at most 365 days."
    )


class CredentialsResource:
    """Serves the access of recipients.

    Args:
        editor: Reads recipients.
        store: The open database.
        settings: The settings of the gateway.
    """

    def __init__(self, editor: Editor, store: Store, settings: Settings) -> None:
        self._editor = editor
        self._store = store
        self._public_url = settings.public_url
        section = settings.recipients
        self._links = ActivationLinks(store, section)
        self._recipients = Recipients(
            store, token_lifetime=section.token_lifetime, rotation_grace=section.rotation_grace
        )

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
        name = await self._checked(call)
        async with self._store.read() as connection:
            found = await recipient_details(connection, name, epoch_ms())
        link = await self._links.latest(name)
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
        name = await self._checked(call)
        wanted = await call.parse(NewCredential)
        service = self._links if wanted.deliver == "activation" else self._recipients
        made = await service.rotate(
            name, kind=wanted.kind, grace=wanted.grace, token_lifetime=wanted.token_lifetime
        )
        expiry = {"expires_at": iso_utc(made.expires_at)}
        issued = "activation link" if isinstance(made, NewLink) else "profile"
        note_issued(issued, expires_at=made.expires_at)
        ends = f"~ older credentials of recipient {name} end"
        note_changes([f"+ {issued} of recipient {name}", ends])
        if isinstance(made, NewLink):
            return answered({"activation_url": made.url(self._public_url), **expiry}, 201)
        profile = orjson.loads(profile_text(made, self._public_url))
        return answered({"profile": profile, **expiry}, 201)

    async def _revoke_one(self, call: AdminCall) -> Response:
        name = await self._checked(call)
        credential = call.name("credential")
        await self._recipients.revoke_credential(name, credential)
        note_changes([f"- credential {credential} of recipient {name}"])
        return Response(status_code=204)

    async def _revoke(self, call: AdminCall) -> Response:
        name = await self._checked(call)
        ended = await self._recipients.revoke(name)
        note_changes([f"~ recipient {name}: revoked; {ended} credentials ended"])
        return answered({"ended": ended})

    async def _restore(self, call: AdminCall) -> Response:
        name = await self._checked(call)
        await self._recipients.restore(name)
        note_changes([f"~ recipient {name}: restored"])
        return Response(status_code=204)

    async def _checked(self, call: AdminCall) -> str:
        """The name of the recipient, which the administrator manages."""
        name = call.name("recipient")
        missing = f"there is no recipient '{name}'"
        found = await self._editor.read(call.admin, RecipientPlace(name), missing)
        return str(found["name"])


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
