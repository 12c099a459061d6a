"""Administrators, their roles, and the shares that they manage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias, get_args

from sluicegate.api.errors import PermissionDenied, SluicegateError
from sluicegate.api.principals import Principal
from sluicegate.config.sections.admin import AdminRole
from sluicegate.database.names import name_key

Role: TypeAlias = AdminRole
ROLES: tuple[Role, ...] = get_args(Role)
"""The roles. Each includes the permissions of those before it."""


@dataclass(frozen=True, slots=True)
class Admin:
    """An authenticated administrator.

    Attributes:
        shares: Casefolded names of the only shares that it manages or reads; `None` for all.
        expires_at: When its token expires, epoch milliseconds.
    """

    name: str
    role: Role
    shares: frozenset[str] | None
    method: str
    expires_at: int

    @property
    def principal(self) -> Principal:
        """The administrator as a principal, to which page tokens are bound."""
        return Principal(f"admin:{self.method}:{self.name}", self.name, self.method)

    def has_role(self, required: Role) -> bool:
        """Whether the role includes another one."""
        return ROLES.index(self.role) >= ROLES.index(required)

    def check_role(self, required: Role) -> None:
        """Check that the role includes another one."""
        if not self.has_role(required):
            raise PermissionDenied(
                f"this requires the role {required}, and '{self.name}' has the role {self.role}"
            ).decided_by("role")

    def check_all_shares(self) -> None:
        """Check that the administrator is not limited to some shares."""
        if self.shares is not None:
            raise PermissionDenied(
                f"this requires the role {self.role} for all shares, and '{self.name}' has it only for "
                f"{self._listed()}"
            ).decided_by("role")

    def manages(self, share: str) -> bool:
        """Whether a share is one of those of the administrator."""
        return self.shares is None or name_key(share) in self.shares

    def manages_recipient(self, shares: Collection[str]) -> bool:
        """Whether a recipient with grants of these shares belongs to the administrator.

        A recipient without grants belongs only to administrators of all shares: its token might later
        be able to read any share.
        """
        return self.shares is None or (bool(shares) and all(self.manages(share) for share in shares))

    def check_share(self, share: str) -> None:
        """Check that the administrator manages a share, whether or not it exists."""
        if not self.manages(share):
            raise PermissionDenied(
                f"this requires the role {self.role} for the share '{share}', and '{self.name}' has it "
                f"only for {self._listed()}"
            ).decided_by("role")

    def check_recipient(self, name: str, shares: Collection[str]) -> None:
        """Check that the administrator manages a recipient, whether or not it exists."""
        if not self.manages_recipient(shares):
            raise self.denied_recipient(name)

    def denied_recipient(self, name: str) -> SluicegateError:
        """The error for a recipient that the administrator does not manage, or that does not exist."""
        return PermissionDenied(
            f"this requires the role {self.role} for all shares of the recipient '{name}', which needs "
            f"at least one; '{self.name}' has it only for {self._listed()}"
        ).decided_by("role")

    def _listed(self) -> str:
        return ", ".join(f"'{share}'" for share in sorted(self.shares or ())) or "no share"
