"""Creates, changes and deletes recipients, and changes their grants."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import NO_CONDITIONS, Conditions, entity_tag
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.editing.grants import GrantPart
from sluicegate.admin.shares_file_parts import Content, RecipientPart
from sluicegate.api.errors import InvalidRequest

_ONE = "/recipients/{recipient}"
_MOST_SHARES = 1000
# Texts of the form that are lists: one entry on each line.
_SEPARATOR = ": "


class RecipientForms:
    """The forms that change recipients."""

    def __init__(self, admin: AdminApi) -> None:
        self._admin = admin

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("GET", "/new-recipient", self._new, "admin"),
            ConsoleRoute("POST", "/new-recipient", self._create, "admin"),
            ConsoleRoute("GET", f"{_ONE}/edit", self._edit, "admin"),
            ConsoleRoute("POST", f"{_ONE}/edit", self._change, "admin"),
            ConsoleRoute("POST", f"{_ONE}/grants", self._grant, "admin"),
            ConsoleRoute("GET", f"{_ONE}/grants/{{share}}/end", self._confirm_end, "admin"),
            ConsoleRoute("POST", f"{_ONE}/grants/{{share}}/end", self._end, "admin"),
            ConsoleRoute("GET", f"{_ONE}/delete", self._confirm_delete, "admin"),
            ConsoleRoute("POST", f"{_ONE}/delete", self._delete, "admin"),
        ]

    async def _new(self, call: ConsoleCall) -> Response:
        shares = await self._admin.contents.names(call.admin, most=_MOST_SHARES)
        return call.page("new-recipient.html", shares=shares)

    async def _create(self, call: ConsoleCall) -> Response:
        name = call.form.text("name")
        if not name:
            raise InvalidRequest("name is missing: enter a name for the recipient")
        share, comment = call.form.text("share"), call.form.text("comment")
        content: Content = ({"shares": [share]} if share else {}) | (
            {"comment": comment} if comment else {}
        )
        place, absent = RecipientPart(name), Conditions(none_match=("*",))
        await self._admin.editor.change(call.admin, place, absent, lambda _: content)
        return call.redirect(
            "recipients",
            name,
            message=f"the recipient '{name}' was created; create an activation link for it",
        )

    async def _edit(self, call: ConsoleCall) -> Response:
        content = await self._read(call)
        return call.page(
            "edit-recipient.html",
            content=content,
            revision=entity_tag(content),
            properties=_lines(content.get("properties", {})),
        )

    async def _change(self, call: ConsoleCall) -> Response:
        place, form = RecipientPart(call.name("recipient")), call.form
        changed: Content = {
            "comment": form.text("comment") or None,
            "token_lifetime": form.text("token_lifetime") or None,
            "allow_from": form.text("allow_from").split(),
        }
        if "properties" in form:
            changed["properties"] = property_values(form.text("properties"))

        def change(content: Content | None) -> Content:
            if content is None:
                raise place.error_if_missing(call.admin)
            new = {key: value for key, value in content.items() if key != "name"} | changed
            return {key: value for key, value in new.items() if value is not None}

        await self._admin.editor.change(call.admin, place, call.conditions, change)
        return self._shown(call, "the recipient was changed")

    async def _grant(self, call: ConsoleCall) -> Response:
        share = call.form.text("share")
        if not share:
            raise InvalidRequest("share is missing: name the share to grant")
        await self._regrant(call, share, granted=True)
        return self._shown(call, f"the share '{share}' was granted")

    async def _confirm_end(self, call: ConsoleCall) -> Response:
        content = await self._read(call)
        share = call.name("share")
        return self._confirm(
            call,
            content,
            heading=f"End the grant of '{share}' to '{content['name']}'?",
            lines=[
                "The recipient can then no longer read this share. URLs and credentials that it "
                "already has remain valid until they expire.",
            ],
            button="End the grant",
        )

    async def _end(self, call: ConsoleCall) -> Response:
        share = call.name("share")
        await self._regrant(call, share, granted=False)
        return self._shown(call, f"the grant of '{share}' has ended")

    async def _confirm_delete(self, call: ConsoleCall) -> Response:
        content = await self._read(call)
        return self._confirm(
            call,
            content,
            heading=f"Delete the recipient '{content['name']}'?",
            lines=[
                "Its credentials, activation links and grants are deleted, too. Its entries in the "
                "ledger stay.",
                "URLs and credentials of stores that it already has remain valid until they expire.",
            ],
            button="Delete the recipient",
        )

    async def _delete(self, call: ConsoleCall) -> Response:
        place = RecipientPart(call.name("recipient"))
        await self._admin.editor.delete(call.admin, place, call.conditions)
        return call.redirect("recipients", message=f"the recipient '{place.recipient}' was deleted")

    async def _read(self, call: ConsoleCall) -> Content:
        place = RecipientPart(call.name("recipient"))
        return await self._admin.editor.read(call.admin, place)

    async def _regrant(self, call: ConsoleCall, share: str, *, granted: bool) -> None:
        place = GrantPart(call.name("recipient"), share)
        await self._admin.editor.regrant(
            call.admin, place, NO_CONDITIONS, granted=granted, of_recipient=call.conditions
        )

    def _confirm(
        self, call: ConsoleCall, content: Content, *, heading: str, lines: list[str], button: str
    ) -> Response:
        back = call.url("recipients", content["name"])
        return call.confirmation(heading, lines, button, back=back, revision=entity_tag(content))

    def _shown(self, call: ConsoleCall, message: str) -> Response:
        return call.redirect("recipients", call.name("recipient"), message=message)


def _lines(properties: dict[str, str]) -> str | None:
    """Properties as lines `name: value`; `None` if lines cannot express them."""
    lines = [f"{name}{_SEPARATOR}{value}" for name, value in properties.items()]
    text = "\n".join(lines)
    return text if property_values(text) == properties else None


def property_values(text: str) -> dict[str, str]:
    """The properties in lines `name: value`."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        name, separator, value = line.partition(_SEPARATOR.strip())
        if not separator:
            raise InvalidRequest(f"properties: '{line[:64]}' is not a line such as 'country: DE'")
        found[name.strip()] = value.strip()
    return found
