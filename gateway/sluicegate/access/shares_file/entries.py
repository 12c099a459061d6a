"""Shares, schemas, tables, assets, recipients and grants as entries, to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sluicegate.access.shares_file.models import (
    AssetEntry,
    CatalogSourceEntry,
    Declaration,
    ModelEntry,
    RecipientEntry,
    SchemaEntry,
    SchemaSourceEntry,
    ShareEntry,
    TableEntry,
)
from sluicegate.api.assets.models import ASSET_KINDS, AssetKind
from sluicegate.database.names import name_key

Kind = Literal["share", "schema", "table", "recipient", "grant"] | AssetKind
EntryKey: TypeAlias = tuple[Kind, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that a shares file can declare."""

    kind: Kind
    names: tuple[str, ...]
    values: Mapping[str, Any]
    id: str | None = None

    @property
    def key(self) -> EntryKey:
        """A key that does not depend on the case of the names."""
        return self.kind, tuple(name_key(name) for name in self.names)


_SOURCE = ("catalog", "schema", "kinds", "include", "exclude", "alias")

Entries: TypeAlias = dict[EntryKey, Entry]

_ASSET = ("catalog", "identifier", "comment", "versions", "aliases", "tags")
COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "share": ("display_name", "comment", "properties", "source", "tags"),
    "schema": ("comment", "source", "tags"),
    "table": (
        "catalog",
        "identifier",
        "comment",
        "history",
        "change_feed",
        "start_version",
        "partition_filter",
        "access_modes",
        "ref",
        "tags",
    ),
    **dict.fromkeys(ASSET_KINDS, _ASSET),
    "recipient": ("comment", "token_lifetime", "allow_from", "properties", "limits"),
    "grant": (),
}
"""The columns of each kind without ids and names."""


def column_values(entry: Entry) -> dict[str, Any]:
    """The values of an entry's columns in the database.

    A source of only tables is stored without `kinds`, because version 0.1.0, whose processes can still
    serve during an upgrade, rejects this key.
    """
    values = dict(entry.values)
    source = values.get("source")
    if source is not None and source["kinds"] == ["tables"]:
        values["source"] = {name: value for name, value in source.items() if name != "kinds"}
    return values


def declared_entries(declaration: Declaration) -> Entries:
    """The entries that a shares file declares."""
    entries = [*_declared_shares(declaration.shares), *_declared_recipients(declaration.recipients)]
    return {entry.key: entry for entry in entries}


def _declared_shares(declared: Mapping[str, ShareEntry]) -> Iterator[Entry]:
    for share, entry in declared.items():
        yield Entry("share", (share,), _share_values(entry))
        for schema, inner in entry.schemas.items():
            yield Entry("schema", (share, schema), _schema_values(inner))
            for table, source in inner.tables.items():
                names = (share, schema, table)
                known = None if source.id is None else str(source.id)
                yield Entry("table", names, _table_values(source), known)
            for kind, assets in inner.assets.items():
                for name, asset in assets.items():
                    yield Entry(kind, (share, schema, name), _asset_values(asset))


def _declared_recipients(declared: Mapping[str, RecipientEntry]) -> Iterator[Entry]:
    for recipient, entry in declared.items():
        values = entry.model_dump(include=set(COLUMNS["recipient"]))
        values |= {"allow_from": list(entry.allow_from), "limits": entry.limits.stored()}
        yield Entry("recipient", (recipient,), values)
        for share in entry.shares:
            yield Entry("grant", (recipient, share), {})


def _share_values(entry: ShareEntry) -> dict[str, Any]:
    values = entry.model_dump(include={"display_name", "comment", "properties", "tags"})
    return values | {"source": source_values(entry.source) if entry.source else None}


def _schema_values(entry: SchemaEntry) -> dict[str, Any]:
    source = source_values(entry.source) if entry.source else None
    return {"comment": entry.comment, "source": source, "tags": entry.tags}


def source_values(entry: CatalogSourceEntry | SchemaSourceEntry) -> dict[str, Any]:
    """The values of the column `source`, also those that have their defaults."""
    values = entry.model_dump(by_alias=True, mode="json")
    return {name: values.pop(name) for name in _SOURCE if name in values} | values


def _table_values(entry: TableEntry) -> dict[str, Any]:
    values = entry.model_dump(mode="json", exclude={"id"})
    return {"identifier": values.pop("table"), "catalog": values.pop("catalog"), **values}


def _asset_values(entry: AssetEntry) -> dict[str, Any]:
    values = {
        "catalog": entry.catalog,
        "identifier": entry.identifier,
        "comment": entry.comment,
        "tags": entry.tags,
    }
    if not isinstance(entry, ModelEntry):
        return {**values, "versions": None, "aliases": {}}
    versions = None if entry.versions is None else sorted(set(entry.versions))
    return {**values, "versions": versions, "aliases": dict(entry.aliases)}
