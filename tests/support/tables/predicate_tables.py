"""Tables for property tests of predicates: rows in files, and what a Delta log says about them."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Any

from hypothesis import strategies as st
from support.tables.filesets import file_set, schema_field, table_metadata
from support.tables.predicate_kinds import KINDS, Draw, Kind
from support.tables.predicate_trees import (
    CASTS,
    COMPARISONS,
    Compare,
    IsNull,
    Junction,
    Named,
    Not,
    Row,
    Semantics,
    Tree,
)

from sluicegate.tables.snapshot import FileSet, TableMetadata

_ZONES = st.sampled_from([0, -12 * 60, 14 * 60, 330, -18 * 60, 18 * 60]).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)
_ODD_NAMES = ("we ird", "dotted.name", "naïve", "tick`ed")


@dataclass(frozen=True)
class Table:
    """Rows by file, and the log's view of them."""

    columns: Sequence[Named]
    partitions: Sequence[Named]
    rows: Sequence[Sequence[Row]]
    log: Sequence[tuple[str, str | None]]
    metadata: TableMetadata
    zone: timezone

    @property
    def files(self) -> FileSet:
        """The files, in chunks of two."""
        return file_set(self.log, chunk_rows=2)

    def matching(self, tree: Tree, semantics: Semantics) -> set[int]:
        """The numbers of the files with a row for which the predicate is true."""
        return {
            number
            for number, rows in enumerate(self.rows)
            if any(tree.truth(row, semantics) is True for row in rows)
        }


@st.composite
def tables(draw: Draw, partitions_only: bool = False, kinds: Sequence[str] = tuple(KINDS)) -> Table:
    """Up to three columns and up to three partition columns, plain, nested, mapped, oddly named."""
    chosen = st.sampled_from(kinds).map(KINDS.__getitem__)
    in_files = [] if partitions_only else draw(st.lists(chosen, min_size=1, max_size=3))
    in_partitions = draw(
        st.lists(chosen, min_size=int(partitions_only), max_size=3 if partitions_only else 1)
    )
    columns = [_named(draw, f"c{at}", kind, nested=True) for at, kind in enumerate(in_files)]
    partitions = [_named(draw, f"p{at}", kind) for at, kind in enumerate(in_partitions)]
    mapped, zone = draw(st.booleans()), draw(_ZONES)
    rows, files = [], []
    for _ in range(draw(st.integers(1, 4))):
        values = {named.key: _value(draw, named.kind, named=True) for named in partitions}
        file = [
            {**values, **{named.key: _value(draw, named.kind) for named in columns}}
            for _ in range(draw(st.integers(1, 4)))
        ]
        deleted = draw(st.integers(0, len(file) - 1)) if draw(st.booleans()) else 0
        rows.append(file[deleted:])
        files.append(
            (
                _partition_text(draw, partitions, values, mapped, zone),
                _stats_text(draw, columns, file, mapped, zone),
            )
        )
    configuration = {"delta.columnMapping.mode": "name"} if mapped else {}
    fields = [_field(named) for named in (*columns, *partitions)]
    metadata = table_metadata(fields, [named.path[0] for named in partitions], **configuration)
    return Table(columns, partitions, rows, files, metadata, zone)


def trees(table: Table, columns: Sequence[Named], *, casts: bool = True) -> st.SearchStrategy[Tree]:
    """Predicates on some columns, with literals that are often values of the table."""
    leaves = st.one_of(
        st.sampled_from(columns).map(lambda named: IsNull(_spelled(named))),
        st.sampled_from(columns).flatmap(lambda named: _comparisons(table, named, casts)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(Not),
            st.builds(
                Junction, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=4)
            ),
        ),
        max_leaves=6,
    )


def _named(draw: Draw, key: str, kind: Kind, *, nested: bool = False) -> Named:
    name = draw(st.sampled_from([key.upper(), *(f"{key}{odd}" for odd in _ODD_NAMES)]))
    return Named(key, ("Outer" + key, name) if nested and draw(st.booleans()) else (name,), kind)


def _spelled(named: Named) -> Named:
    """The same column as a client may write it: upper and lower case are the same."""
    path = tuple(
        "".join(c.swapcase() if c in string.ascii_letters else c for c in part) for part in named.path
    )
    return Named(named.key, path, named.kind)


def _value(draw: Draw, kind: Kind, *, named: bool = False) -> Any:
    value = draw(st.one_of(st.none(), kind.values, kind.values))
    return None if named and value == "" else value  # an empty text is null in partition values


def _field(named: Named) -> dict[str, Any]:
    field: Any = named.kind.delta
    for name in reversed(named.path):
        field = schema_field(name, field, **{"delta.columnMapping.physicalName": _physical(name)})
        if name is not named.path[0]:
            field = {"type": "struct", "fields": [field]}
    return dict(field)


def _physical(name: str) -> str:
    return f"col-{name.casefold()}"


def _key(path: Sequence[str], mapped: bool) -> list[str]:
    return [_physical(name) if mapped else name for name in path]


def _partition_text(
    draw: Draw, partitions: Sequence[Named], values: Row, mapped: bool, zone: timezone
) -> str:
    texts = {}
    for named in partitions:
        value, (key,) = values[named.key], _key(named.path, mapped)
        if value is None:
            texts[key] = draw(st.sampled_from([None, ""]))
        else:
            texts[key] = named.kind.partition(draw, value, zone)
    return json.dumps(texts)


def _stats_text(
    draw: Draw, columns: Sequence[Named], rows: Sequence[Row], mapped: bool, zone: timezone
) -> str | None:
    """Statistics of all rows, deleted ones included; parts may be missing, or all of it malformed."""
    if not draw(st.integers(0, 9)):
        broken: str | None = draw(st.sampled_from([None, "", "{", "[]", "null", '{"minValues": 3}']))
        return broken
    members: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    for named in columns:
        values = [row[named.key] for row in rows]
        key = _key(named.path, mapped)
        if draw(st.integers(0, 9)):
            _put(members["nullCount"], key, str(values.count(None)))
        present = [value for value in values if value is not None]
        present = _without_nan(draw, present)
        if present and draw(st.integers(0, 9)):
            least = min((value for value in present if value == value), default=math.nan)
            _put(members["minValues"], key, named.kind.least(draw, least, zone))
        if present and draw(st.integers(0, 9)):
            most = math.nan if any(value != value for value in present) else max(present)
            _put(members["maxValues"], key, named.kind.most(draw, most, zone))
    count = f'"numRecords":{len(rows)}' if draw(st.integers(0, 9)) else '"tightBounds":false'
    return (
        "{" + ",".join([count, *(f'"{name}":{_dumped(tree)}' for name, tree in members.items())]) + "}"
    )


def _without_nan(draw: Draw, values: list[Any]) -> list[Any]:
    """Some writers leave NaN out of the statistics, to others it is the largest number."""
    return [value for value in values if value == value] if draw(st.booleans()) else values


def _put(tree: dict[str, Any], path: Sequence[str], text: str) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = text


def _dumped(tree: Mapping[str, Any] | str) -> str:
    if isinstance(tree, str):
        return tree
    return "{" + ",".join(f"{json.dumps(name)}:{_dumped(value)}" for name, value in tree.items()) + "}"


def _comparisons(table: Table, named: Named, casts: bool) -> st.SearchStrategy[Tree]:
    same = _literals(table, named)
    if not casts or not CASTS[named.kind.delta]:
        return same
    cast = st.sampled_from(CASTS[named.kind.delta]).map(
        lambda target: Named(named.key, named.path, named.kind, target)
    )
    return st.one_of(same, cast.flatmap(lambda column: _literals(table, column)))


def _literals(table: Table, column: Named) -> st.SearchStrategy[Tree]:
    semantics = Semantics(nan_is_largest=True, zone=table.zone)
    values = [column.value(row, semantics) for rows in table.rows for row in rows]
    known = [value for value in values if value is not None]
    drawn = column.compared_as.values
    literals = st.one_of(st.sampled_from(known), drawn) if known else drawn
    return st.builds(Compare, st.just(column), st.sampled_from(COMPARISONS), literals, st.booleans())
