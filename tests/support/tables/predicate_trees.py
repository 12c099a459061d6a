"""Predicates for property tests: their spellings, and what they are for a row."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timezone
from typing import Any, TypeAlias

from support.tables.predicate_kinds import KINDS, Kind, single

Row = Mapping[str, Any]

_OPS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "equal": ("=", operator.eq),
    "lessThan": ("<", operator.lt),
    "lessThanOrEqual": ("<=", operator.le),
    "greaterThan": (">", operator.gt),
    "greaterThanOrEqual": (">=", operator.ge),
}
COMPARISONS = tuple(_OPS)
_FLIPPED = {"lessThan": "greaterThan", "lessThanOrEqual": "greaterThanOrEqual"}
_FLIPPED |= {new: old for old, new in _FLIPPED.items()}


@dataclass(frozen=True)
class Semantics:
    """Where clients differ."""

    nan_is_largest: bool
    zone: timezone


@dataclass(frozen=True)
class Named:
    """A column: its kind, its key in rows, its names from the top down, and a cast to another kind."""

    key: str
    path: tuple[str, ...]
    kind: Kind
    cast: Kind | None = None

    @property
    def compared_as(self) -> Kind:
        return self.cast or self.kind

    def json(self) -> dict[str, Any]:
        return {"op": "column", "name": ".".join(self.path), "valueType": self.compared_as.hint}

    def sql(self) -> str:
        name = ".".join("`" + part.replace("`", "``") + "`" for part in self.path)
        if self.cast is None:
            return name
        return f"CAST({name} AS {_SQL_TYPES[self.cast.delta]})"

    def value(self, row: Row, semantics: Semantics) -> Any:
        value = row[self.key]
        if value is None or self.cast is None:
            return value
        return _CASTS[self.kind.delta, self.cast.delta](value, semantics.zone)


@dataclass(frozen=True)
class Compare:
    """A comparison with a literal; `flipped` has the literal on the left."""

    column: Named
    op: str
    literal: Any
    flipped: bool = False

    def json(self) -> dict[str, Any]:
        kind = self.column.compared_as
        literal = {"op": "literal", "value": kind.literal(self.literal), "valueType": kind.hint}
        sides = [self.column.json(), literal]
        op = _FLIPPED.get(self.op, self.op) if self.flipped else self.op
        return {"op": op, "children": sides[::-1] if self.flipped else sides}

    def sql(self) -> str:
        sides = [self.column.sql(), self.column.compared_as.sql(self.literal)]
        op = _OPS[_FLIPPED.get(self.op, self.op) if self.flipped else self.op][0]
        return f" {op} ".join(sides[::-1] if self.flipped else sides)

    def truth(self, row: Row, semantics: Semantics) -> bool | None:
        value = self.column.value(row, semantics)
        if value is None:
            return None
        pair = value, self.literal
        if semantics.nan_is_largest:
            pair = _nan_largest(value), _nan_largest(self.literal)
        return _OPS[self.op][1](*pair)


@dataclass(frozen=True)
class IsNull:
    """A column is null."""

    column: Named

    def json(self) -> dict[str, Any]:
        return {"op": "isNull", "children": [self.column.json()]}

    def sql(self) -> str:
        return f"{self.column.sql()} IS NULL"

    def truth(self, row: Row, semantics: Semantics) -> bool | None:
        return row[self.column.key] is None


@dataclass(frozen=True)
class Not:
    """The opposite."""

    child: Tree

    def json(self) -> dict[str, Any]:
        return {"op": "not", "children": [self.child.json()]}

    def sql(self) -> str:
        return f"NOT ({self.child.sql()})"

    def truth(self, row: Row, semantics: Semantics) -> bool | None:
        inner = self.child.truth(row, semantics)
        return None if inner is None else not inner


@dataclass(frozen=True)
class Junction:
    """`and` or `or`."""

    op: str
    children: Sequence[Tree]

    def json(self) -> dict[str, Any]:
        return {"op": self.op, "children": [child.json() for child in self.children]}

    def sql(self) -> str:
        return f" {self.op.upper()} ".join(f"({child.sql()})" for child in self.children)

    def truth(self, row: Row, semantics: Semantics) -> bool | None:
        truths = [child.truth(row, semantics) for child in self.children]
        decisive = self.op == "or"
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive


Tree: TypeAlias = Compare | IsNull | Not | Junction


def json_hint(tree: Tree) -> str:
    """The tree as `jsonPredicateHints`."""
    return json.dumps(tree.json())


class _Nan:
    """Larger than all numbers, and equal to itself."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nan)

    def __lt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return self == other

    def __gt__(self, other: object) -> bool:
        return not self == other

    def __ge__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _nan_largest(value: Any) -> Any:
    return _Nan() if isinstance(value, float) and math.isnan(value) else value


def _wrapped(bits: int) -> Callable[[int, timezone], int]:
    limit = 1 << (bits - 1)
    return lambda value, zone: (value + limit) % (2 * limit) - limit


_Cast = Callable[[Any, timezone], Any]
_CASTS: Mapping[tuple[str, str], _Cast] = {
    ("integer", "long"): lambda value, zone: value,
    ("integer", "double"): lambda value, zone: float(value),
    ("long", "double"): lambda value, zone: float(value),
    ("long", "float"): lambda value, zone: single(float(value)),
    ("long", "integer"): _wrapped(32),
    ("integer", "short"): _wrapped(16),
    ("decimal(18,4)", "double"): lambda value, zone: float(value),
    ("decimal(38,10)", "double"): lambda value, zone: float(value),
    ("decimal(9,2)", "float"): lambda value, zone: single(float(value)),
    ("float", "double"): lambda value, zone: value,
    ("double", "float"): lambda value, zone: _as_single(value),
    ("timestamp", "date"): lambda value, zone: value.astimezone(zone).date(),
    ("date", "timestamp"): lambda value, zone: datetime.combine(value, time(), zone).astimezone(UTC),
    ("date", "string"): lambda value, zone: value.isoformat(),
    ("timestamp_ntz", "date"): lambda value, zone: value.date(),
    ("timestamp_ntz", "timestamp"): lambda value, zone: value.replace(tzinfo=zone).astimezone(UTC),
}
CASTS: Mapping[str, Sequence[Kind]] = {
    name: [KINDS[target] for source, target in _CASTS if source == name] for name in KINDS
}
_SQL_TYPES = {
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


def _as_single(value: float) -> float:
    try:
        return single(value)
    except OverflowError:
        return math.copysign(math.inf, value)
