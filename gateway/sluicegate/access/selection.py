"""Selects the tables and assets of a schema, or the schemas of a catalog, that are shared.

Source: Delta Sharing protocol, "Names". Catalogs allow other names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from sluicegate.api import (
    AssetKind,
    Catalog,
    ListedAsset,
    ListedTable,
    SharedCatalogSource,
    SharedSchemaSource,
)
from sluicegate.database.names import NamedKind, aliased, check_name, name_key

_USUAL_ALIAS = "_"

Source = SharedCatalogSource | SharedSchemaSource


class _Listed(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def created_at(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class ListedSchema:
    """A schema in the listing of a catalog. Listings don't contain its age."""

    name: str
    readable: str
    created_at: None = None


_Item = TypeVar("_Item", bound=_Listed)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A table, asset or schema that is not shared, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection(Generic[_Item]):
    """The items of a listing that a source shares."""

    shared: Sequence[tuple[str, _Item]]
    left_out: Sequence[LeftOut]

    def reason_for_none(self, listed: int, reason: str) -> str | None:
        """Explain why a source shares nothing, or return `None` if it shares something."""
        if self.shared:
            return None
        if listed == 0:
            return reason
        if self.left_out:
            return f"{len(self.left_out)} are left out; {self.left_out[0].reason}"
        return f"include and exclude select none of {listed}"


def select_tables(listed: Iterable[ListedTable], source: SharedSchemaSource) -> Selection[ListedTable]:
    """Select the tables that a source shares from its catalog's listing. Both parts are sorted.

    If several tables have the same name for recipients, only the oldest is shared, so that a newer one
    never replaces it. If the catalog does not report their ages, none of them is shared.
    """
    return _select("table", listed, source)


def select_assets(
    kind: AssetKind, listed: Iterable[ListedAsset], source: SharedSchemaSource
) -> Selection[ListedAsset]:
    """Select the assets of a kind that a source shares; see `select_tables`."""
    return _select(kind, listed, source)


def select_schemas(
    listed: Iterable[str], source: SharedCatalogSource, catalog: Catalog
) -> Selection[ListedSchema]:
    """Select the schemas that a source shares from its catalog's listing. Both parts are sorted.

    If several schemas have the same name for recipients, none of them is shared.
    """
    schemas = [ListedSchema(name, catalog.readable_schema(name)) for name in listed]
    return _select("schema", schemas, source)


def _select(kind: NamedKind, listed: Iterable[_Item], source: Source) -> Selection[_Item]:
    selected = {item.name: item for item in listed if _is_selected(item.name, source)}
    left_out: list[LeftOut] = []
    named: dict[str, list[tuple[str, _Item]]] = defaultdict(list)
    for item in sorted(selected.values(), key=attrgetter("name")):
        name = item.name if source.alias is None else aliased(kind, _readable(item), source.alias)
        try:
            named[name_key(check_name(kind, name))].append((name, item))
        except ValueError as error:
            left_out.append(LeftOut(item.name, f"{error}; {_remedy(kind, item, source)}"))
    shared: list[tuple[str, _Item]] = []
    for key, same in named.items():
        kept = same[0] if len(same) == 1 else _oldest(same)
        shared += [] if kept is None else [kept]
        left_out += (_clash(each[1], key, same) for each in same if each is not kept)
    return Selection(shared, sorted(left_out, key=attrgetter("name")))


def _oldest(same: Sequence[tuple[str, _Item]]) -> tuple[str, _Item] | None:
    """The item that was created first, or `None` if this is not known."""
    ages = {item.created_at for _, item in same}
    if None in ages or len(ages) < len(same):
        return None
    return min(same, key=lambda each: each[1].created_at or 0)


def _clash(item: _Item, key: str, same: Sequence[tuple[str, _Item]]) -> LeftOut:
    others = ", ".join(repr(other.name) for _, other in same if other is not item)
    return LeftOut(
        item.name,
        f"recipients would see it and {others} under one name, {key!r}; exclude one, or declare "
        "both with different names",
    )


def _readable(item: _Listed) -> str:
    return item.readable if isinstance(item, ListedSchema) else item.name


def _remedy(kind: NamedKind, item: _Listed, source: Source) -> str:
    by_hand = "declare it with another name"
    suggested = aliased(kind, _readable(item), _USUAL_ALIAS)
    if source.alias is not None or suggested == item.name:
        return by_hand
    return f"set alias: {_USUAL_ALIAS!r} to share it as {suggested!r}, or {by_hand}"


@dataclass(frozen=True, slots=True)
class PatternDecision:
    """Whether the patterns of a source select a name.

    Attributes:
        pattern: The pattern that decides; `None` if no pattern of `include` matches.
    """

    pattern: str | None
    excludes: bool = False

    @property
    def selects(self) -> bool:
        """Whether the name is shared."""
        return self.pattern is not None and not self.excludes


def decide_by_patterns(name: str, source: Source) -> PatternDecision:
    """Decide whether the patterns of a source select a table, asset or schema by the catalog's name."""
    included = _matching(name, source.include)
    excluded = None if included is None else _matching(name, source.exclude)
    return PatternDecision(included) if excluded is None else PatternDecision(excluded, excludes=True)


def _is_selected(name: str, source: Source) -> bool:
    return decide_by_patterns(name, source).selects


def _matching(name: str, patterns: Sequence[str]) -> str | None:
    folded = name.casefold()
    return next((each for each in patterns if fnmatchcase(folded, each.casefold())), None)


def empty_catalog(selected: Selection[ListedSchema], listed: int, catalog: Catalog) -> str | None:
    """Explain why a catalog that is shared entirely has no schemas; `None` if it has some."""
    reason = selected.reason_for_none(listed, catalog.reason_for_no_schemas)
    return None if reason is None else f"0 schemas: {reason}"


def empty_schema(selected: Selection[ListedTable], listed: int, catalog: Catalog) -> str | None:
    """Explain why a schema that is shared entirely has no tables; `None` if it has some."""
    reason = selected.reason_for_none(listed, catalog.reason_for_none)
    return None if reason is None else f"0 tables: {reason}"
