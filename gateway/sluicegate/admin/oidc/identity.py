"""Administrators of OIDC issuers: their names, and the roles that the configuration maps to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sluicegate.admin.identity import ROLES, Admin
from sluicegate.api.errors import PermissionDenied
from sluicegate.audit.trail import note_claim
from sluicegate.config.sections.admin import AdminIssuerSettings, RoleSettings
from sluicegate.database.names import name_key


@dataclass(frozen=True, slots=True)
class AdminIdentity:
    """What an issuer says about an administrator."""

    issuer: str
    name: str
    values: tuple[str, ...]

    def admin(self, settings: AdminIssuerSettings, expires_at: int) -> Admin:
        """The administrator, with the role that the settings map now."""
        role = _highest(settings.roles[each] for each in self.values if each in settings.roles)
        if role is None:
            note_claim("oidc", self.name)
            raise PermissionDenied(
                f"this requires the role viewer, and no value of the claim {settings.role_claim} "
                f"of '{self.name}' is mapped to a role"
            ).decided_by("role")
        shares = None if role.shares is None else frozenset(map(name_key, role.shares))
        return Admin(self.name, role.role, shares, "oidc", expires_at)


def mapped_values(settings: AdminIssuerSettings, claim: Any) -> tuple[str, ...]:
    """The values of the role claim that the settings map to roles."""
    values = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return tuple(each for each in values if isinstance(each, str) and each in settings.roles)


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
