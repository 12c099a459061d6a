"""Changes of recipients and their grants, for administrators."""

from __future__ import annotations

from sluicegate.admin.conditions import Conditions
from sluicegate.admin.editor import Edited, Editor
from sluicegate.admin.identity import Admin
from sluicegate.admin.places import Content, GrantPlace, RecipientPlace
from sluicegate.api.errors import NotFound
from sluicegate.database.names import name_key


async def regrant(
    editor: Editor, admin: Admin, place: GrantPlace, conditions: Conditions, *, granted: bool
) -> Edited:
    """Grant a share to a recipient, or end the grant.

    Raises:
        NotFound: There is no such recipient, or no grant to end.
    """
    share = place.share

    def change(content: Content | None) -> Content:
        found = _existing(content, place)
        others = [each for each in found.get("shares", ()) if name_key(each) != name_key(share)]
        if not granted and len(others) == len(found.get("shares", ())):
            raise NotFound(f"the share '{share}' is not granted to '{found['name']}'")
        new = {key: value for key, value in found.items() if key != "name"}
        return new | {"shares": [*others, share] if granted else others}

    return await editor.change(admin, place, conditions, change)


async def delete_recipient(
    editor: Editor, admin: Admin, place: RecipientPlace, conditions: Conditions
) -> None:
    """Delete a recipient with its credentials and grants.

    Raises:
        NotFound: There is no such recipient.
    """

    def delete(content: Content | None) -> None:
        _existing(content, place)

    await editor.change(admin, place, conditions, delete)


def _existing(content: Content | None, place: RecipientPlace) -> Content:
    if content is None:
        raise NotFound(place.missing)
    return content
