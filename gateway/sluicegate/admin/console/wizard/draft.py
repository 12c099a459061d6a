"""What an administrator has entered so far, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from sluicegate.access.shares_file.models import RecipientEntry, TableEntry
from sluicegate.admin.console.pages.recipient_forms import property_values
from sluicegate.admin.console.sessions.forms import Form
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.yaml import JsonDocument, Location, explain, nearest
from sluicegate.database.names import NamedKind, check_name

Problems = Mapping[str, str]
"""Messages by the names of fields. Those of no single field have the key of `GENERAL`."""

GENERAL = "general"
_OPTIONS = ("comment", "history", "change_feed", "start_version", "partition_filter", "access_modes")
_NEW_RECIPIENT = ("allow_from", "properties", "token_lifetime")


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of all steps, as texts of a form.

    Attributes:
        new_recipient: A recipient to create, with the fields after it; or empty.
    """

    catalog: str
    table: str
    share: str
    schema: str
    name: str
    comment: str
    history: bool
    change_feed: bool
    start_version: str
    partition_filter: str
    access_modes: tuple[str, ...]
    recipients: tuple[str, ...]
    new_recipient: str
    allow_from: str
    properties: str
    token_lifetime: str

    @classmethod
    def of(cls, form: Form) -> Self:
        """The draft in a form."""
        others = form.text("other_recipients").split("\n")
        names = [*form.all("recipients"), *map(str.strip, others)]
        values: dict[str, Any] = {each.name: form.text(each.name) for each in fields(cls)}
        values |= {name: bool(form.text(name)) for name in ("history", "change_feed")}
        values |= {
            "access_modes": tuple(form.all("access_modes")),
            "recipients": tuple(dict.fromkeys(filter(None, names))),
        }
        return cls(**values)

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """The fields of a form that has this draft as its content."""
        return [*self._pairs()]

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, tuple):
                yield from ((each.name, part) for part in value)
            elif value:
                yield each.name, "yes" if value is True else value

    @property
    def entry(self) -> dict[str, Any]:
        """The table as in a shares file. Options with their default values are left out."""
        entered: dict[str, Any] = {
            "catalog": self.catalog,
            "table": self.table,
            "comment": self.comment,
            "history": self.history,
            "change_feed": self.change_feed,
            "start_version": self.start_version,
            "partition_filter": self.partition_filter,
        }
        modes = list(self.access_modes)
        return {name: value for name, value in entered.items() if value} | (
            {} if modes == ["url"] else {"access_modes": modes}
        )

    @property
    def recipient(self) -> dict[str, Any]:
        """The new recipient as in a shares file."""
        entered = {
            "shares": [self.share],
            "allow_from": self.allow_from.split(),
            "properties": property_values(self.properties),
            "token_lifetime": self.token_lifetime,
        }
        return {name: value for name, value in entered.items() if value}


def option_problems(draft: Draft, catalogs: Collection[str]) -> Problems:
    """What is wrong with the source, the names, and the options."""
    found: dict[str, str] = {}
    if draft.catalog not in catalogs:
        found[GENERAL] = f"there is no catalog '{draft.catalog}'{nearest(draft.catalog, [*catalogs])}"
    elif not draft.table:
        found[GENERAL] = "the table of the catalog is missing: choose it first"
    names: tuple[tuple[NamedKind, str, str], ...] = (
        ("share", "share", draft.share),
        ("schema", "schema", draft.schema),
        ("table", "name", draft.name),
    )
    for kind, field, name in names:
        found |= _name_problem(kind, field, name)
    source = {"catalog": draft.catalog, "table": draft.table or "-"}
    return _model_problems(TableEntry, draft.entry | source, _OPTIONS) | found


def recipient_problems(draft: Draft) -> Problems:
    """What is wrong with the recipients."""
    if not draft.new_recipient:
        unused = [name for name in _NEW_RECIPIENT if getattr(draft, name)]
        return dict.fromkeys(unused, "this is only for a new recipient, whose name is missing")
    found = _name_problem("recipient", "new_recipient", draft.new_recipient)
    try:
        entry = draft.recipient
    except InvalidRequest as error:
        return found | {"properties": error.message.removeprefix("properties: ")}
    return found | _model_problems(RecipientEntry, entry, _NEW_RECIPIENT)


def _name_problem(kind: NamedKind, field: str, name: str) -> dict[str, str]:
    try:
        check_name(kind, name)
    except ValueError as error:
        return {field: str(error)}
    return {}


def _model_problems(
    model: type[BaseModel], values: Mapping[str, Any], names: Sequence[str]
) -> dict[str, str]:
    """The errors of a model by field, worded as those of a shares file."""
    try:
        model.model_validate(values)
    except ValidationError as error:
        found = {name: _explained(error, model, values, {name}) for name in names}
        others = {str(each["loc"][0]) for each in error.errors() if each["loc"]} - {*names}
        found[GENERAL] = _explained(error, model, values, others | {""})
        return {name: message for name, message in found.items() if message}
    return {}


def _explained(
    error: ValidationError, model: type[BaseModel], values: Mapping[str, Any], names: set[str]
) -> str:
    """The messages about some fields, or about no field with the name `""`."""

    def about(location: Location) -> bool:
        return (str(location[0]) if location else "") in names

    lines = explain(error, JsonDocument(values), model, about=about).splitlines()
    # A field's message is next to the field.
    (first, *others) = names
    return "\n".join(lines if others else (line.removeprefix(f"{first}: ") for line in lines))
