"""The tree of what is declared: shares, schemas, tables and other assets, and their recipients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sluicegate.admin.services.contents import (
    ContentRow,
    ContentSize,
    GrantedTo,
    SharedContents,
    StoredShare,
)
from sluicegate.protocols.explain.models import NamedKind


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table or another asset."""

    kind: NamedKind
    name: str


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A schema, or a part of it.

    Attributes:
        source: The schema of a catalog that is shared entirely, such as `lake.orders`, or `None`.
    """

    name: str
    source: str | None
    size: int
    leaves: Sequence[Leaf]


@dataclass(frozen=True, slots=True)
class ShareNode:
    """A share, with a part of its content.

    Attributes:
        source: The catalog that is shared entirely, or `None`.
    """

    share: StoredShare
    source: str | None
    granted: GrantedTo
    size: ContentSize
    schemas: Sequence[SchemaNode]
    more: int


async def share_nodes(
    contents: SharedContents, names: Sequence[str], text: str, *, rows: int, recipients: int
) -> list[ShareNode]:
    """Some shares with what matches a text."""
    found = await contents.shares(names)
    sizes = await contents.sizes(found, text)
    granted = await contents.recipients(found, recipients)
    shown = await contents.rows(found, text, first=0, most=rows)
    return [
        ShareNode(
            share,
            source_name(share.source),
            granted[share.id],
            sizes[share.id],
            schema_nodes(shown[share.id]),
            max(0, sizes[share.id].rows - len(shown[share.id])),
        )
        for share in found
    ]


def schema_nodes(rows: Sequence[ContentRow]) -> list[SchemaNode]:
    """Rows by schema."""
    return [
        SchemaNode(
            name,
            source_name(parts[0].source),
            parts[0].size,
            [Leaf(each.kind, each.name) for each in parts if each.kind and each.name],
        )
        for name, group in groupby(rows, key=lambda row: row.schema)
        if (parts := list(group))
    ]


def source_name(source: Mapping[str, Any] | None) -> str | None:
    """What is shared entirely: a catalog, or a schema of a catalog."""
    if source is None:
        return None
    return ".".join(filter(None, (source["catalog"], source.get("schema"))))
