"""The shares file of a draft, made from what is stored."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.stored import Part, joined, recipient_part, share_part
from sluicegate.admin.console.wizard.draft import Draft
from sluicegate.admin.identity import Admin
from sluicegate.admin.places import Content, SharePlace, same_name
from sluicegate.api.errors import InvalidRequest
from sluicegate.database.names import name_key


def part_of(draft: Draft) -> Part:
    """What the changes of a draft depend on."""
    names = [*draft.recipients, *filter(None, [draft.new_recipient])]
    return joined(share_part(draft.share, draft.schema, draft.name), recipient_part(names))


def declare(draft: Draft, admin: Admin, stored: StoredShares) -> Content:
    """The shares file that adds the table of a draft, and grants its share."""
    admin.check_share(draft.share)
    share, content = _share(draft, stored)
    recipients = _recipients(draft, admin, stored, share)
    return {"shares": {share: content}} | ({"recipients": recipients} if recipients else {})


def _share(draft: Draft, stored: StoredShares) -> tuple[str, Content]:
    """The share with the table."""
    found = SharePlace((draft.share,)).read(stored)
    content: Content = {} if found is None else deepcopy(found)
    name = str(content.pop("name", draft.share))
    schemas = content.setdefault("schemas", {})
    schema = same_name(schemas, draft.schema) or draft.schema
    tables = schemas.setdefault(schema, {}).setdefault("tables", {})
    if (existing := same_name(tables, draft.name)) is not None:
        raise InvalidRequest(
            f"there is a table {name}.{schema}.{existing} already: choose another name, or change that "
            "table"
        )
    tables[draft.name] = draft.entry
    return name, content


def _recipients(draft: Draft, admin: Admin, stored: StoredShares, share: str) -> dict[str, Any]:
    """The chosen recipients with the grant, and the new one."""
    known = stored.export(recipients=True).get("recipients", {})
    found: dict[str, Any] = {}
    for wanted in draft.recipients:
        name = same_name(known, wanted)
        if name is None or not admin.manages_recipient(known[name].get("shares", ())):
            raise InvalidRequest(f"there is no recipient '{wanted}' to which you can grant the share")
        shares = known[name].get("shares", [])
        if name_key(share) not in map(name_key, shares):
            shares = [*shares, share]
        found[name] = known[name] | {"shares": shares}
    if draft.new_recipient:
        if same_name(known, draft.new_recipient) is not None:
            raise InvalidRequest(
                f"there is a recipient '{draft.new_recipient}' already: choose it from the list"
            )
        found[draft.new_recipient] = draft.recipient | {"shares": [share]}
    return found
