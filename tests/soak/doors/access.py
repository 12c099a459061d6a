"""OAuth clients, activation links, and recipients whose access administrators start and end."""

from __future__ import annotations

import asyncio
import uuid

from soak.doors.admin import Admin
from soak.site import OAUTH_READER, SHARE
from soak.visitor import Operation, Visitor, sharing

from sluicegate_testing.secrets import keep_secret

_SECONDS_OF_CHANGE = 1.5


async def oauth(visitor: Visitor) -> None:
    """An access token, and a listing with it."""
    door = "OAuth: tokens"
    profile = visitor.site.profiles[OAUTH_READER]
    form = {
        "grant_type": "client_credentials",
        "client_id": profile["clientId"],
        "client_secret": profile["clientSecret"],
    }
    path = visitor.random.choice(["/oauth/token", "/iceberg/v1/oauth/tokens"])
    token = (await visitor.post(door, path, data=form, token="")).json()["access_token"]
    keep_secret(token)
    await visitor.get("OAuth: listing", "/delta-sharing/shares", token=token)


async def unauthenticated(visitor: Visitor) -> None:
    """Nothing without a token."""
    door = "unauthenticated"
    path = visitor.random.choice(
        ["/delta-sharing/shares", sharing(visitor.table(), "/metadata"), "/iceberg/v1/config"]
    )
    await visitor.get(door, path, token="", expected={401})


async def lifecycle(visitor: Visitor) -> None:
    """A share and a recipient, from their creation to their removal; a revoked one gets nothing."""
    name = f"guest-{uuid.uuid4().hex[:12]}"
    admin = Admin(visitor)
    notes = visitor.site.table("local")
    entry = {"catalog": "raw", "table": f"file://{visitor.site.gateway.folder}/local/notes"}
    await admin.ask("PUT", f"/shares/{name}", {"schemas": {"eu": {"tables": {"notes": entry}}}})
    try:
        await admin.ask("PUT", f"/recipients/{name}", {"shares": [name, SHARE]})
        token = await _activated(visitor, admin, name)
        own = f"/delta-sharing/shares/{name}/schemas/eu/tables/notes/query"
        door = "guest: queries"
        await visitor.post(door, own, json={}, token=token)
        rotated = await admin.ask("POST", f"/recipients/{name}/tokens", _PROFILE)
        newer = rotated.json()["profile"]["bearerToken"]
        keep_secret(newer)
        await visitor.post(door, sharing(notes, "/query"), json={}, token=newer)
        await admin.ask("DELETE", f"/recipients/{name}/grants/{SHARE}")
        # A reload can lie between the change and the request: the change takes effect in a second.
        await asyncio.sleep(_SECONDS_OF_CHANGE)
        await visitor.post(door, sharing(notes, "/query"), json={}, token=newer, expected={404})
        await admin.ask("POST", f"/recipients/{name}/revoke")
        await asyncio.sleep(_SECONDS_OF_CHANGE)
        for revoked in (token, newer):
            await visitor.post("guest: after its end", own, json={}, token=revoked, expected={401, 403})
        await admin.ask("DELETE", f"/recipients/{name}")
        await visitor.post("guest: after its end", own, json={}, token=newer, expected={401, 403})
    finally:
        await admin.ask("DELETE", f"/recipients/{name}", expected={200, 204, 404})
        await admin.ask("DELETE", f"/shares/{name}")


_PROFILE = {"deliver": "profile", "grace": "1d"}


async def _activated(visitor: Visitor, admin: Admin, name: str) -> str:
    """The token of a profile that is downloaded by an activation link, which works once."""
    door = "activation links"
    issued = await admin.ask("POST", f"/recipients/{name}/tokens", {})
    link = issued.json()["activation_url"]
    keep_secret(link.partition("=")[2])
    await visitor.get(door, link, token="", headers={"Accept": "text/html"})
    profile = (await visitor.post(door, link, token="")).json()
    token: str = profile["bearerToken"]
    keep_secret(token)
    await visitor.post(door, link, token="", expected={410})
    return token


OPERATIONS = (
    Operation("OAuth", 2, oauth),
    Operation("unauthenticated", 1, unauthenticated),
    Operation("life of a recipient", 2, lifecycle),
)
