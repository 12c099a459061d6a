"""The credentials of recipients: issued as profiles or activation links, and revoked."""

from __future__ import annotations

from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate._util.units import Duration
from sluicegate.access.activation.links import ActivationLinks, NewLink
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.profile import profile_text
from sluicegate.access.recipients.service import Recipients
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.resources.access import managed_recipient
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


class NewRecipient(NewCredential):
    """A recipient to create, with its first credential."""

    name: str = Field(description="A name that follows the rules of share names.")
    comment: str | None = Field(default=None, description="For people.")


class CredentialsResource:
    """Serves the credentials of recipients.

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
                "POST",
                "/recipients",
                self._create,
                "admin",
                "createRecipient",
                "Create a recipient without grants, and issue its first credential",
                "IssuedCredential",
                (201,),
                all_shares=True,
                body=NewRecipient,
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

    async def _create(self, call: AdminCall) -> Response:
        wanted = await call.parse(NewRecipient)
        service = self._links if wanted.deliver == "activation" else self._recipients
        made = await service.create(
            wanted.name,
            kind=wanted.kind,
            comment=wanted.comment,
            token_lifetime=wanted.token_lifetime,
        )
        return self._issued(made)

    async def _issue(self, call: AdminCall) -> Response:
        name = await self._checked(call)
        wanted = await call.parse(NewCredential)
        service = self._links if wanted.deliver == "activation" else self._recipients
        made = await service.rotate(
            name, kind=wanted.kind, grace=wanted.grace, token_lifetime=wanted.token_lifetime
        )
        return self._issued(made)

    def _issued(self, made: NewLink | IssuedCredential) -> Response:
        common = {"recipient": made.recipient, "expires_at": iso_utc(made.expires_at)}
        if isinstance(made, NewLink):
            return answered({"activation_url": made.url(self._public_url)} | common, 201)
        profile = orjson.loads(profile_text(made, self._public_url))
        return answered({"profile": profile} | common, 201)

    async def _revoke_one(self, call: AdminCall) -> Response:
        name = await self._checked(call)
        await self._recipients.revoke_credential(name, call.name("credential"))
        return Response(status_code=204)

    async def _revoke(self, call: AdminCall) -> Response:
        ended = await self._recipients.revoke(await self._checked(call))
        return answered({"ended": ended})

    async def _restore(self, call: AdminCall) -> Response:
        await self._recipients.restore(await self._checked(call))
        return Response(status_code=204)

    async def _checked(self, call: AdminCall) -> str:
        return await managed_recipient(self._editor, call)
