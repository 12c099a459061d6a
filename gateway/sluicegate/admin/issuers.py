"""Authenticates administrators by tokens of OIDC issuers. Imports PyJWT and aiohttp."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.oidc.claims import IssuerClaims
from sluicegate.access.authentication.oidc.source import KeySource
from sluicegate.admin.identity import ROLES, Admin
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.audit.trail import note_claim
from sluicegate.config.admin.settings import AdminIssuerSettings, RoleSettings
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.database.names import name_key

_LONGEST_NAME = 255


class AdminIssuer:
    """The administrators of an issuer.

    Args:
        settings: The issuer's section.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, settings: AdminIssuerSettings, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = KeySource.of(settings, lambda: None)  # nothing is cached
        self._claims = IssuerClaims(settings, self._keys, clock=clock)
        self._clock = clock

    async def authenticate(self, token: WebToken) -> Admin | None:
        """The administrator of a token; `None` if it is from another issuer.

        Raises:
            Unauthenticated: The token is not valid.
            PermissionDenied: It is valid, but its claims contain no role.
            Unavailable: The issuer's keys are not available.
        """
        verified = await self._claims.verify(token)
        if verified is None:
            return None
        claims, expires_at = verified
        now = self._clock()
        if expires_at <= now:
            raise Unauthenticated("the access token has expired; get a new one")
        if expires_at > now + LONGEST_TOKEN:
            raise Unauthenticated("the access token is valid for more than a year; get a shorter one")
        name = claims[self._settings.claim]
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            raise Unauthenticated(f"the claim {self._settings.claim} of the access token is not a name")
        role = _highest(self._granted(claims))
        if role is None:
            note_claim("oidc", name)
            raise PermissionDenied(
                f"this requires the role viewer, and no value of the claim {self._settings.role_claim} "
                f"of '{name}' is mapped to a role"
            ).decided_by("role")
        shares = None if role.shares is None else frozenset(map(name_key, role.shares))
        return Admin(name, role.role, shares, "oidc", int(expires_at * 1000))

    async def aclose(self) -> None:
        """Close the connections to the issuer."""
        await self._keys.aclose()

    def _granted(self, claims: dict[str, Any]) -> list[RoleSettings]:
        values = claims.get(self._settings.role_claim)
        values = [values] if isinstance(values, str) else values if isinstance(values, list) else []
        known = self._settings.roles
        return [known[each] for each in values if isinstance(each, str) and each in known]


def _highest(granted: Iterable[RoleSettings]) -> RoleSettings | None:
    """The highest role, for all shares that it is granted for."""
    granted = list(granted)
    if not granted:
        return None
    role = max((each.role for each in granted), key=ROLES.index)
    same = [each for each in granted if each.role == role]
    shares = [each.shares for each in same if each.shares is not None]
    limited = len(shares) == len(same)
    return RoleSettings(role=role, shares=tuple(n for s in shares for n in s) if limited else None)
