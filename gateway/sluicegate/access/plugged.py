"""Recognises recipients by a plugin, which says who it is; whether it is let in is not its to say."""

from __future__ import annotations

from sluicegate.access.admission import admit
from sluicegate.access.grants import Grants
from sluicegate.api import Authenticator
from sluicegate.errors import Unauthenticated
from sluicegate.nouns import Principal


class Plugged(Authenticator):
    """Asks a plugin's authenticator for a recipient's name.

    Args:
        plugin: The configured instance.
        grants: Where recipients are looked up.
    """

    def __init__(self, plugin: Authenticator, grants: Grants) -> None:
        self._plugin = plugin
        self._grants = grants

    async def authenticate(self, authorization: str, address: str | None) -> Principal | None:
        """The recipient that the plugin names; `None` for what is not the plugin's.

        Raises:
            Unauthenticated: The plugin refuses it, or names no recipient, or one that was revoked.
            PermissionDenied: The recipient may not call from this address.
            Unavailable: The database, or what the plugin needs, does not answer.
        """
        named = await self._plugin.authenticate(authorization, address)
        if named is None:
            return None
        recipient = await self._grants.recipient(named.name)
        if recipient is None:
            raise Unauthenticated("you are known, but as no recipient; tell the provider")
        return admit(recipient, named.method, address)
