"""Authenticates recipients with a plugin. The gateway then checks whether the recipient has access."""

from __future__ import annotations

from typing import Final

import anyio

from sluicegate.access.authentication.authenticate import BEARER, bearer_token
from sluicegate.access.authentication.recipient_checks import check_recipient
from sluicegate.access.grants import Grants
from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.errors import Unauthenticated, Unavailable, check_challenge
from sluicegate.api.principals import Principal
from sluicegate.database.names import check_name
from sluicegate.database.reads import RecipientRecord

_TIMEOUT_SECONDS: Final = 10.0  # as long as policies have
_LONGEST_NAME = 80  # in the log, as clients can choose the name


class PluginAuthenticator(Authenticator):
    """Calls the authenticator of a plugin, and looks up the recipient that it names."""

    def __init__(self, plugin: Authenticator, grants: Grants) -> None:
        self._plugin = plugin
        self.challenge = None if plugin.challenge is None else check_challenge(plugin.challenge)
        self._grants = grants

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient that the plugin names; `None` if the plugin doesn't recognize the request."""
        try:
            return await self._recipient(request)
        except Unauthenticated as error:
            error.challenge = error.challenge or self.challenge
            if error.challenge is None and bearer_token(request.authorization) is None:
                error.challenge = BEARER  # without `invalid_token`: RFC 6750, section 3.1
            raise

    async def _recipient(self, request: AuthenticationRequest) -> Principal | None:
        named = await self._named(request)
        if named is None:
            return None
        recipient = await self._registered(named.name)
        if recipient is None:
            raise Unauthenticated(
                "authenticated, but not registered as a recipient; contact the provider",
                detail=f"the authenticator returned the name {named.name[:_LONGEST_NAME]!r}",
            )
        return check_recipient(recipient, named.method, request.address)

    async def _named(self, request: AuthenticationRequest) -> Principal | None:
        try:
            with anyio.fail_after(_TIMEOUT_SECONDS):
                return await self._plugin.authenticate(request)
        except TimeoutError as error:
            name = type(self._plugin).__name__
            raise Unavailable(
                "the request cannot be authenticated now; try again later",
                detail=f"the authenticator {name} did not respond within {_TIMEOUT_SECONDS} seconds",
            ) from error

    async def _registered(self, name: str) -> RecipientRecord | None:
        try:
            # Clients choose such names, and databases fail on some that no recipient can have.
            check_name("recipient", name)
        except ValueError:
            return None
        recipient = await self._grants.recipient(name)
        # Recipients are found in any case, but "ACME" can be another user of the plugin's source.
        return recipient if recipient is not None and recipient.name == name else None
