"""Administrators with tokens."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.identity import Role
from sluicegate.admin.tokens import AdminRecord, AdminTokens
from sluicegate.audit.trail import note_changes, note_issued, note_resource
from sluicegate.config.model import TokenLifetime


class NewAdmin(BaseModel):
    """An administrator to create."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="A name that follows the rules of recipients' names.")
    role: Role = Field(description="Its role.")
    shares: tuple[str, ...] | None = Field(
        default=None, description="Names of the only shares that it manages; all without it."
    )
    token_lifetime: TokenLifetime | None = Field(
        default=None, description="How long its token is valid, such as 90d; at most 365 days."
    )
    replace: bool = Field(
        default=False, description="Replace an administrator of this name and its token."
    )


class AdminsResource:
    """Serves `/admins`, for owners."""

    def __init__(self, tokens: AdminTokens) -> None:
        self._tokens = tokens

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/admins", self._list, "owner", "listAdmins"),
            AdminRoute("POST", "/admins", self._create, "owner", "createAdmin", body=NewAdmin),
            AdminRoute("DELETE", "/admins/{admin}", self._delete, "owner", "deleteAdmin"),
        ]

    async def _list(self, call: AdminCall) -> Response:
        return answered({"items": [_shown(each) for each in await self._tokens.list()]})

    async def _create(self, call: AdminCall) -> Response:
        wanted = await call.parse(NewAdmin)
        made = await self._tokens.create(
            wanted.name,
            wanted.role,
            shares=wanted.shares,
            token_lifetime=wanted.token_lifetime,
            replace=wanted.replace,
        )
        shares = ", ".join(wanted.shares) if wanted.shares else "all shares"
        sign = "~" if wanted.replace else "+"
        note_changes([f"{sign} administrator {wanted.name}: {wanted.role} for {shares}"])
        note_resource(wanted.name)
        note_issued("administrator token", expires_at=made.admin.expires_at)
        return answered(_shown(made.admin) | {"token": made.token}, 201)

    async def _delete(self, call: AdminCall) -> Response:
        name = call.name("admin")
        await self._tokens.delete(name)
        note_changes([f"- administrator {name}"])
        return Response(status_code=204)


def _shown(admin: AdminRecord) -> dict[str, object]:
    return {
        "name": admin.name,
        "role": admin.role,
        "shares": None if admin.shares is None else list(admin.shares),
        "created_at": iso_utc(admin.created_at),
        "expires_at": iso_utc(admin.expires_at),
    }
