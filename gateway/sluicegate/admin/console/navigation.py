"""The entries of the main navigation, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.admin.identity import Admin, Role


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the main navigation."""

    path: str
    label: str
    role: Role = "viewer"
    all_shares: bool = False

    def is_for(self, admin: Admin) -> bool:
        """Whether an administrator can open the page."""
        return admin.has_role(self.role) and not (self.all_shares and admin.shares is not None)


ENTRIES: Sequence[MenuEntry] = (
    MenuEntry("", "Overview"),
    MenuEntry("shares", "Shares"),
    MenuEntry("recipients", "Recipients"),
    MenuEntry("share-table", "Share a table", role="admin"),
    MenuEntry("usage", "Usage"),
    MenuEntry("tasks", "Tasks", all_shares=True),
    MenuEntry("audit", "Audit", role="admin"),
)
