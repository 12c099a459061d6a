"""The tree of what is declared: shares, schemas, tables and other assets, and their recipients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.access.shares_file.entries import Entry
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.admin.console.inspector import KINDS
from sluicegate.database.names import name_key
from sluicegate.protocols.explain.models import NamedKind


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table or another asset."""

    kind: NamedKind
    name: str


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A schema.

    Attributes:
        source: The schema of a catalog that is shared entirely, such as `lake.orders`, or `None`.
        leaves: Its tables and other assets, as far as they are declared.
    """

    name: str
    source: str | None
    leaves: Sequence[Leaf]


@dataclass(frozen=True, slots=True)
class ShareNode:
    """A share.

    Attributes:
        source: The catalog that is shared entirely, or `None`.
        recipients: Names of all recipients that are granted the share.
    """

    name: str
    comment: str | None
    source: str | None
    recipients: Sequence[str]
    schemas: Sequence[SchemaNode]

    @property
    def size(self) -> int:
        """The number of declared tables and other assets."""
        return sum(len(schema.leaves) for schema in self.schemas)


def share_node(stored: StoredShares, share: Entry, wanted: str = "") -> ShareNode | None:
    """A share with what matches a filter; `None` if nothing does.

    A share or schema whose name matches is complete.

    Args:
        stored: The shares of the database.
        share: The share.
        wanted: The casefolded text that names contain.
    """
    name = share.names[0]
    complete = wanted in name_key(name)
    inner = "" if complete else wanted
    schemas = [
        node
        for entry in stored.within("schema", share.key[1])
        if (node := _schema_node(stored, entry, inner)) is not None
    ]
    if not complete and not schemas:
        return None
    return ShareNode(
        name,
        share.values["comment"],
        _source(share.values["source"]),
        stored.recipients_of(share),
        schemas,
    )


def leaf_rows(node: ShareNode) -> Iterator[tuple[SchemaNode, Leaf | None]]:
    """The schemas of a share with each of their leaves; with `None` if they have none."""
    for schema in node.schemas:
        if not schema.leaves:
            yield schema, None
        for leaf in schema.leaves:
            yield schema, leaf


def _schema_node(stored: StoredShares, schema: Entry, wanted: str) -> SchemaNode | None:
    complete = wanted in name_key(schema.names[-1])
    leaves = [
        Leaf(kind, entry.names[-1])
        for kind in KINDS
        for entry in stored.within(kind, schema.key[1])
        if complete or wanted in name_key(entry.names[-1])
    ]
    if not complete and not leaves:
        return None
    return SchemaNode(schema.names[-1], _source(schema.values["source"]), leaves)


def _source(source: dict[str, Any] | None) -> str | None:
    if source is None:
        return None
    return ".".join(filter(None, (source["catalog"], source.get("schema"))))
