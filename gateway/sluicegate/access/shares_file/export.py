"""Writes shares and recipients of the database as a shares file again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from io import StringIO
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from sluicegate._util.units import format_duration
from sluicegate.access.shares_file.entries import Entries, Entry, Kind
from sluicegate.access.shares_file.models import (
    CatalogSourceEntry,
    ModelEntry,
    RecipientEntry,
    SchemaEntry,
    SchemaSourceEntry,
    ShareEntry,
    SkillEntry,
    TableEntry,
    VolumeEntry,
)
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.api.errors import NotFound
from sluicegate.config.yaml import nearest
from sluicegate.database.names import name_key

_MODELS: Mapping[Kind, type[BaseModel]] = {
    "share": ShareEntry,
    "schema": SchemaEntry,
    "table": TableEntry,
    "volume": VolumeEntry,
    "model": ModelEntry,
    "skill": SkillEntry,
    "recipient": RecipientEntry,
}
_SOURCES: Mapping[Kind, type[BaseModel]] = {"share": CatalogSourceEntry, "schema": SchemaSourceEntry}
_WITHIN_SCHEMAS: tuple[Kind, ...] = ("table", *ASSET_KINDS)
# Lines are not folded, so that a file under version control differs only where a share does.
_LINE_WIDTH = 1 << 20
_LINE_BREAKS = frozenset("\n\r\x85\u2028\u2029")


class _Representer(SafeRepresenter):
    """Puts texts with line breaks into double quotes: ruamel writes some of them wrongly in others."""

    def represent_str(self, data: str) -> ScalarNode:
        style = '"' if _LINE_BREAKS & {*data} else None
        scalar: ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", data, style=style)
        return scalar


_Representer.add_representer(str, _Representer.represent_str)


class StoredShares:
    """The shares and recipients of the database, in the form of a shares file."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._children: dict[tuple[Kind, tuple[str, ...]], list[Entry]] = {}
        self._grants_of: dict[str, list[Entry]] = {}
        for key in sorted(entries):
            self._children.setdefault((key[0], key[1][:-1]), []).append(entries[key])
            if key[0] == "grant":
                self._grants_of.setdefault(key[1][1], []).append(entries[key])

    @property
    def shares(self) -> list[Entry]:
        """All shares, sorted by name."""
        return self.within("share")

    def within(self, kind: Kind, around: tuple[str, ...] = ()) -> list[Entry]:
        """The entries of a kind directly in a parent, given by its key, sorted by name."""
        return self._children.get((kind, around), [])

    def find(self, name: str) -> Entry:
        """The share of a name, in any case."""
        found = self._entries.get(("share", (name_key(name),)))
        if found is None:
            known = [share.names[0] for share in self.shares]
            raise NotFound(f"there is no share '{name}'{nearest(name, known)}")
        return found

    def recipient(self, name: str) -> Entry | None:
        """The recipient of a name, in any case, or `None`."""
        return self._entries.get(("recipient", (name_key(name),)))

    def recipient_content(self, recipient: Entry) -> dict[str, Any]:
        """A recipient as in a shares file, with all of its grants."""
        names = [grant.names[1] for grant in self.within("grant", recipient.key[1])]
        return ({"shares": names} if names else {}) | _options(recipient)

    def recipients_of(self, share: Entry) -> list[str]:
        """The names of the recipients that are granted a share, sorted."""
        return [grant.names[0] for grant in self._grants_of.get(share.key[1][0], [])]

    def content(self, share: Entry, *, complete: bool = False, ids: bool = False) -> dict[str, Any]:
        """A share as in a shares file."""
        schemas = {
            schema.names[-1]: self._schema(schema, complete=complete, ids=ids)
            for schema in self.within("schema", share.key[1])
        }
        content = _options(share, complete=complete)
        return content | ({"schemas": schemas} if schemas or complete else {})

    def export(
        self, names: Collection[str] = (), *, recipients: bool = False, ids: bool = False
    ) -> dict[str, Any]:
        """The content of a shares file that declares what the database contains.

        Options with their default values are left out. The result never contains credentials.

        Args:
            recipients: Export recipients, too: all, or those with a grant of one of `names`. Each has
                all of its grants, because a shares file replaces the grants of its recipients.
        """
        found = {share.key: share for share in (self.find(name) for name in names)}
        chosen = [found[key] for key in sorted(found)] if names else self.shares
        content = {"shares": {share.names[0]: self.content(share, ids=ids) for share in chosen}}
        if recipients:
            keys = {share.key[1][0] for share in chosen} if names else None
            content["recipients"] = dict(self._recipients(keys))
        return {key: value for key, value in content.items() if value}

    def _schema(self, schema: Entry, *, complete: bool, ids: bool) -> dict[str, Any]:
        content = _options(schema, complete=complete)
        for kind in _WITHIN_SCHEMAS:
            shows_id = complete or (ids and kind == "table")
            found = {
                entry.names[-1]: _options(entry, complete=complete)
                | ({"id": entry.id} if shows_id else {})
                for entry in self.within(kind, schema.key[1])
            }
            if found or complete:
                content[f"{kind}s"] = found
        return content

    def _recipients(self, shares: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
        for recipient in self.within("recipient"):
            grants = self.within("grant", recipient.key[1])
            if shares is None or any(grant.key[1][1] in shares for grant in grants):
                yield recipient.names[0], self.recipient_content(recipient)


def yaml_text(content: Mapping[str, Any]) -> str:
    """Content of a shares file as YAML 1.2, which `read_document` reads."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = _LINE_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    written = StringIO()
    yaml.dump(content, written)
    return written.getvalue()


def _options(entry: Entry, *, complete: bool = False) -> dict[str, Any]:
    """The options of an entry by the keys of a shares file, in the order of its model."""
    values = dict(entry.values)
    source = values.pop("source", None)
    if source is not None:
        values["from"] = _written(_SOURCES[entry.kind], source, complete=complete)
    elif complete and entry.kind in _SOURCES:
        values["from"] = None
    if "identifier" in values:
        values[entry.kind] = values.pop("identifier")
    if entry.kind == "recipient" and values["limits"] is None:  # how no limits are stored
        del values["limits"]
    return _written(_MODELS[entry.kind], values, complete=complete)


def _written(model: type[BaseModel], values: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
    """Values by the keys of a model, its required ones first."""
    written: dict[str, Any] = {}
    for name, field in sorted(model.model_fields.items(), key=lambda item: not item[1].is_required()):
        key = field.alias or name
        if key not in values:
            continue
        value = to_jsonable_python(values[key])
        # Columns without a value are null, whatever the model's default is.
        if complete or field.is_required() or value not in (None, _default(field)):
            written[key] = format_duration(value) if key == "token_lifetime" and value else value
    return written


def _default(field: FieldInfo) -> Any:
    return to_jsonable_python(field.get_default(call_default_factory=True))
