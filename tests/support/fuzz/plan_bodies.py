"""Requests of Iceberg clients to plan a scan: right ones, and those that only look so."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from support.fuzz import fuzz_values as values

_TESTS = ("is-null", "not-null", "is-nan", "not-nan", "lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq")
_OTHERS = ("starts-with", "not-starts-with", "in", "not-in")
_SETS = ("in", "not-in")
_TRANSFORMS = (
    *("identity", "year", "month", "day", "hour", "void", "bucket[4]", "truncate[2]", "truncate[0]"),
    *("bucket[0]", "bucket[999999999]", "truncate[999999999]", "bucket[-1]", "bucket[\u0663]", "DAY"),
    *("bucket[" + "9" * 5_000 + "]", "truncate[" + "[" * 3_000, "", "\x00"),
)
_ODD_KINDS = ("AND", "Or", "NOT", "xor", "literal", "true", "false", "reference", "", "\xe9", "is_null")
_TEXTS = (
    "",
    "a",
    "DE",
    "\x00",
    "\U0010ffff",
    "\ud7ff\ue000",
    "e\u0301",
    "\u202e",
    "x" * 9_000,
    "_",
    "%",
)
_TIMES: Sequence[Any] = (
    *values.TIMESTAMPS,
    *("2024-01-02", "2024-02-30", "9999-12-31", "+10000-01-01", "-0001-01-01", "2024-01-02T03:04:05"),
    *(19_724, -1, 1_704_164_645_000_000, *values.INTEGERS),
)
_NUMBERS: Sequence[Any] = (
    *(0, 1, -1, 5, 1.5, -0.0, 1e300, 5e-324, *values.NUMERALS, *values.INTEGERS),
    *("1.50", "1e999999", "1e-999999", "-" + "9" * 400, "0x10", "1_000", "NaN", "Infinity", " 1 "),
)
_LITERALS: dict[str, Sequence[Any]] = {
    "boolean": (True, False, "true", "FALSE", 1, "yes"),
    "string": _TEXTS,
    "date": _TIMES,
    "timestamp": _TIMES,
    "timestamptz": _TIMES,
    "binary": ("", "0A", "0a", "0", "zz", "A" * 9_001),
}
_ODD: Sequence[Any] = (None, True, [], {}, "", 1.5, {"type": "literal"}, {"type": "literals"})
MOST_PARTS = 3_000


@dataclass(frozen=True)
class PlannedTable:
    """What a client knows of a table when it plans a scan."""

    columns: Sequence[tuple[str, str]]
    snapshots: Sequence[int]


class PlanBodies:
    """Makes bodies for a table."""

    def __init__(self, table: PlannedTable, dice: random.Random) -> None:
        self._table = table
        self._dice = dice

    def body(self) -> dict[str, Any]:
        """A body, most members of which are right."""
        members: dict[str, Callable[[], Any]] = {
            "filter": self.expression,
            "select": self._names,
            "stats-fields": self._names,
            "case-sensitive": lambda: self._dice.choice((True, False, False, None, "true")),
            "use-snapshot-schema": lambda: self._dice.choice((True, False, 0)),
            "min-rows-requested": lambda: self._dice.choice((0, 1, 5, *values.INTEGERS, "1", None)),
        }
        made = {name: make() for name, make in members.items() if self._dice.random() < 0.4}
        return made | self._versions()

    def expression(self, depth: int = 4) -> Any:
        """A filter in one of its forms."""
        kind = self._dice.random()
        if kind < 0.03:
            return self._dice.choice((True, False, "true", "FALSE", {"type": "false"}, *_ODD))
        if kind < 0.06 and depth == 4:
            return self._large()
        if depth and kind < 0.3:
            joined = self._dice.choice(("and", "or", *_ODD_KINDS[:2]))
            return {
                "type": joined,
                "left": self.expression(depth - 1),
                "right": self.expression(depth - 1),
            }
        if depth and kind < 0.4:
            return {"type": "not", "child": self.expression(depth - 1)}
        return self._test()

    def _test(self) -> dict[str, Any]:
        dice = self._dice
        name, primitive = self._column()
        op = dice.choice((*_TESTS, *_OTHERS, *(_ODD_KINDS if dice.random() < 0.05 else ())))
        made: dict[str, Any] = {"type": op}
        made["term" if dice.random() < 0.8 else dice.choice(("left", "child"))] = self._term(name)
        if op in _SETS:
            literals = [self._literal(primitive) for _ in range(dice.choice((0, 1, 2, 5, 70)))]
            made["values"] = (
                literals if dice.random() < 0.9 else {"type": "literals", "values": literals}
            )
        elif op not in _TESTS[:4] or dice.random() < 0.05:
            made["value" if dice.random() < 0.8 else "right"] = self._literal(primitive)
        return made

    def _term(self, name: str) -> Any:
        dice, kind = self._dice, self._dice.random()
        if kind < 0.6:
            return name
        if kind < 0.7:
            return {"type": "reference", dice.choice(("term", "name")): name}
        transform = dice.choice(_TRANSFORMS)
        if kind < 0.9:
            return {"type": "transform", "transform": transform, "term": name}
        function = dice.choice((transform, {"identifier": [transform]}, [transform], [], None))
        arguments: list[Any] = dice.choice(([name], [4, name], [2**63, name], [], [name, 4], [{}]))
        return {"type": "apply", "function": function, "arguments": arguments}

    def _literal(self, primitive: str) -> Any:
        dice = self._dice
        kind = primitive.partition("(")[0]
        known = _LITERALS.get(kind, _NUMBERS)
        found = dice.choice(known if dice.random() < 0.85 else (*_TEXTS, *_TIMES, *_NUMBERS, *_ODD))
        return {"type": "literal", "value": found} if dice.random() < 0.2 else found

    def _large(self) -> Any:
        """A filter that is deep, long, or has many values."""
        count, test = self._dice.choice((90, 101, 500, MOST_PARTS)), self._test()
        deep, kind = test, self._dice.choice(("and", "or", "not"))
        for number in range(min(count, 400)):
            other = ("and", "or")[number % 2] if kind == "or" else kind
            deep = (
                {"type": "not", "child": deep}
                if kind == "not"
                else {"type": other, "left": deep, "right": test}
            )
        name, primitive = self._column()
        many = [self._literal(primitive) for _ in range(count)]
        return self._dice.choice((deep, {"type": "in", "term": name, "values": many}))

    def _column(self) -> tuple[str, str]:
        dice = self._dice
        if not self._table.columns or dice.random() < 0.07:
            return dice.choice((*values.COLUMNS, *values.NAMES)), "string"
        name, primitive = dice.choice(self._table.columns)
        return (name.swapcase() if dice.random() < 0.05 else name), primitive

    def _names(self) -> Any:
        dice = self._dice
        if dice.random() < 0.05:
            return dice.choice(("id", [1], {}, ["x" * 9_000], ["\x00"] * MOST_PARTS))
        return [self._column()[0] for _ in range(dice.choice((0, 1, 1, 2, 9)))]

    def _versions(self) -> dict[str, Any]:
        dice, kind = self._dice, self._dice.random()
        known = (*self._table.snapshots, *self._table.snapshots, *values.INTEGERS)
        if kind < 0.5:
            return {}
        if kind < 0.8:
            return {"snapshot-id": dice.choice(known)}
        names = ("start-snapshot-id", "end-snapshot-id", "snapshot-id")[: 2 if kind < 0.97 else 3]
        return {name: dice.choice(known) for name in names}


def columns_of(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Full names and types of the fields of an Iceberg schema, nested ones included."""
    found, waiting = [], [("", schema)]
    while waiting:
        start, kind = waiting.pop()
        for name, inner in _children(kind):
            found.append((start + name, inner if isinstance(inner, str) else "string"))
            if isinstance(inner, dict):
                waiting.append((f"{start}{name}.", inner))
    return found


def _children(kind: dict[str, Any]) -> list[tuple[str, Any]]:
    match kind["type"]:
        case "struct":
            return [(field["name"], field["type"]) for field in kind["fields"]]
        case "list":
            return [("element", kind["element"])]
        case "map":
            return [("key", kind["key"]), ("value", kind["value"])]
    return []
