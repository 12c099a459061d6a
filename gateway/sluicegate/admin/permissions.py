"""What an administrator can see, and checks of the changes that it can make of that."""

from __future__ import annotations

from collections.abc import Iterable

from sluicegate.access.shares_file.entries import Entries, Entry, EntryKey
from sluicegate.admin.identity import Admin
from sluicegate.api.errors import InvalidRequest


def visible_entries(admin: Admin, entries: Entries) -> Entries:
    """The entries that responses to an administrator can contain or depend on.

    A limited administrator sees its shares with their content and grants, and the recipients that it
    manages. Of another recipient of its shares, it sees only these grants.
    """
    if admin.shares is None:
        return entries
    managed = {
        recipient
        for recipient, shares in _granted_shares(entries).items()
        if admin.manages_recipient(shares)
    }

    def is_visible(key: EntryKey) -> bool:
        kind, names = key
        if kind == "recipient":
            return names[0] in managed
        return admin.manages(names[1] if kind == "grant" else names[0])

    return {key: entry for key, entry in entries.items() if is_visible(key)}


def check_changes(admin: Admin, before: Entries, after: Entries, touched: Iterable[Entry]) -> None:
    """Check that an administrator manages all entries that a change touches."""
    if admin.shares is None:
        return
    granted_before, granted_after = _granted_shares(before), _granted_shares(after)
    for entry in touched:
        kind, names = entry.kind, entry.names
        if kind not in ("recipient", "grant"):
            admin.check_share(names[0])
            continue
        key = entry.key[1][0]
        recipient = ("recipient", (key,))
        if kind == "grant":
            admin.check_share(names[1])
            if key not in granted_before and recipient not in after:
                raise admin.denied_recipient(names[0])
            continue
        if recipient in after:
            admin.check_recipient(names[0], granted_after.get(key, ()))


def check_grants(admin: Admin, visible: Entries, declared: Entries) -> None:
    """Check new grants first, because later messages suggest the names of shares."""
    if admin.shares is None:
        return
    for key, entry in declared.items():
        if entry.kind == "grant" and key not in visible:
            admin.check_share(entry.names[1])
            share = ("share", (key[1][1],))
            if share not in visible and share not in declared:
                raise InvalidRequest(f"there is no share '{entry.names[1]}'")


def check_names(admin: Admin, stored: Entries, visible: Entries, declared: Entries) -> None:
    """Check at last that no new recipient has the name of one that the administrator cannot see.

    That a name is taken is all that the administrator learns, and only if all else is correct.
    """
    for key, entry in declared.items():
        if entry.kind == "recipient" and key in stored and key not in visible:
            raise admin.denied_recipient(entry.names[0])


def _granted_shares(entries: Entries) -> dict[str, list[str]]:
    """The names of the shares that are granted to recipients, by the recipients' casefolded names."""
    found: dict[str, list[str]] = {}
    for (kind, names), entry in entries.items():
        if kind == "grant":
            found.setdefault(names[0], []).append(entry.names[1])
    return found
