"""The steps after the choice of a table: options, recipients, the changes to confirm, the outcome."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import Response

from sluicegate.access.activation.link import NewLink
from sluicegate.access.recipients.summaries import RecipientSelection
from sluicegate.access.shares_file.diff import Difference, describe, render, shown_value
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.stored import Part, joined, recipient_part, share_part
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.sessions.forms import Form
from sluicegate.admin.console.wizard.choosing import PATH
from sluicegate.admin.console.wizard.draft import (
    GENERAL,
    Draft,
    Problems,
    option_problems,
    recipient_problems,
)
from sluicegate.admin.editor import Proposal
from sluicegate.admin.identity import Admin
from sluicegate.admin.recipient_access import NewCredential
from sluicegate.admin.shares_file_parts import Content, SharePart, same_name
from sluicegate.api.errors import InvalidRequest, SluicegateError, Unavailable
from sluicegate.config import Settings
from sluicegate.database.names import name_key
from sluicegate.tables.refs import at_ref


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
    found = SharePart((draft.share,)).read(stored)
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


Step = Literal["options", "recipients", "review", "apply"]

# Recipients with a checkbox. Others are entered by name.
_MOST_RECIPIENTS = 100
_MOST_NAMES = 1000
_FORM_BYTES = 262_144
_ACTIONS = {"add": "Add", "change": "Change", "remove": "Remove"}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change as text: what happens, to what, and the values of its fields."""

    action: str
    title: str
    fields: list[tuple[str, str | None, str]]


class SharingSteps:
    """Takes a draft through the steps."""

    def __init__(self, admin: AdminApi, settings: Settings) -> None:
        self._admin = admin
        self._settings = settings

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("GET", f"/{PATH}/options", self._begin, "admin"),
            ConsoleRoute("POST", f"/{PATH}/options", self._step, "admin", max_form=_FORM_BYTES),
        ]

    async def _begin(self, call: ConsoleCall) -> Response:
        given = [(name, call.query(name)) for name in ("catalog", "table", "share", "schema", "name")]
        draft = Draft.of(Form([*given, ("access_modes", "url")]))
        return await self._options(call, draft, {})

    async def _step(self, call: ConsoleCall) -> Response:
        draft, step = Draft.of(call.form), call.form.text("step")
        if step == "options":
            return await self._options(call, draft, {})
        problems = option_problems(draft, self._settings.catalogs)
        if problems:
            return await self._options(call, draft, problems)
        call.admin.check_share(draft.share)
        if step == "recipients":
            return await self._recipients(call, draft, {})
        if problems := recipient_problems(draft):
            return await self._recipients(call, draft, problems)
        if step not in ("review", "apply"):
            raise InvalidRequest("there is no such step")
        confirmed = call.form.text("confirmed") if step == "apply" else None
        try:
            proposal = await self._admin.editor.merge(
                call.admin,
                part_of(draft),
                lambda stored: declare(draft, call.admin, stored),
                confirmed=confirmed,
            )
        except InvalidRequest as error:
            return await self._options(call, draft, {GENERAL: error.message})
        if proposal.applied:
            return await self._done(call, draft)
        return await self._review(call, draft, proposal, again=confirmed is not None)

    async def _options(self, call: ConsoleCall, draft: Draft, problems: Problems) -> Response:
        return self._page(
            call,
            "wizard-options.html",
            draft,
            problems,
            shares=await self._admin.contents.names(call.admin, most=_MOST_NAMES),
            schemas=await self._admin.contents.schema_names(call.admin, _MOST_NAMES),
        )

    async def _recipients(self, call: ConsoleCall, draft: Draft, problems: Problems) -> Response:
        first = RecipientSelection(limit=_MOST_RECIPIENTS + 1)
        known = await self._admin.recipient_access.names(call.admin, first)
        boxes = known[:_MOST_RECIPIENTS]
        others = [name for name in draft.recipients if name not in boxes]
        return self._page(
            call,
            "wizard-recipients.html",
            draft,
            problems,
            boxes=boxes,
            others=others,
            more=len(known) > len(boxes),
        )

    async def _review(
        self, call: ConsoleCall, draft: Draft, proposal: Proposal, *, again: bool
    ) -> Response:
        return self._page(
            call,
            "wizard-review.html",
            draft,
            {},
            changes=shown_changes(proposal.difference),
            ending=proposal.difference.ending,
            text="\n".join(render(proposal.difference)),
            tag=proposal.tag,
            again=again,
            warning=await self._warning(draft),
        )

    async def _done(self, call: ConsoleCall, draft: Draft) -> Response:
        link: NewLink | None = None
        failure = None
        if draft.new_recipient:
            try:
                made = await self._admin.recipient_access.issue(
                    call.admin, draft.new_recipient, NewCredential()
                )
                link = made if isinstance(made, NewLink) else None
            except Unavailable as error:
                failure = error.message
        # Not after a redirect: the link is in this response only, and is stored nowhere.
        return call.page(
            "wizard-done.html",
            draft=draft,
            address=None if link is None else link.url(self._settings.public_url),
            expires_at=None if link is None else link.expires_at,
            failure=failure,
        )

    async def _warning(self, draft: Draft) -> str | None:
        """The reason why recipients cannot read the table now, or `None`."""
        try:
            at_ref(await self._admin.browser.get(draft.catalog).load_table(draft.table), None)
        except SluicegateError as error:
            return error.message
        return None

    def _page(
        self, call: ConsoleCall, template: str, draft: Draft, problems: Problems, **values: Any
    ) -> Response:
        return call.page(
            template,
            status=400 if problems else 200,
            draft=draft,
            problems=problems,
            **values,
        )


def shown_changes(difference: Difference) -> list[ShownChange]:
    """The changes of a difference as text."""
    return [
        ShownChange(
            _ACTIONS[change["action"]],
            _title(change["kind"], change["name"]),
            [
                (
                    name,
                    None if change["action"] == "add" else shown_value(name, values["before"]),
                    shown_value(name, values["after"]),
                )
                for name, values in change["fields"].items()
            ],
        )
        for change in describe(difference)
    ]


def _title(kind: str, names: list[str]) -> str:
    if kind == "grant":
        return f"grant of {names[1]} to {names[0]}"
    return f"{kind} {'.'.join(names)}"
