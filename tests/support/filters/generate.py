"""Random tables and random filters of them, repeatable by a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from support.filters.kinds import KINDS, FilterKind, is_nan, partition_value
from support.filters.oracle import Row
from support.filters.tree import Column, Filter, Junction, Not, Op, Test

ID = "id"
_NAMES = ("UPPER", "we ird", "naïve", "tick`ed", "plain", "Camel", "dotted.name")
_PARTITIONS = tuple(name for name in KINDS if name != "binary")  # PyIceberg cannot read these in a plan
_TRICKY = ("string", "float", "double")  # each table has a column of text and one of such numbers
_ORDERS = (Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_OR_EQUAL, Op.GREATER, Op.GREATER_OR_EQUAL)


@dataclass(frozen=True)
class RandomTable:
    """A table: its columns, and its rows by commit, each with a unique `id`."""

    seed: int
    columns: Sequence[Column]
    commits: Sequence[Sequence[Row]]
    mapped: bool

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for rows in self.commits for row in rows]

    @property
    def files(self) -> list[list[Row]]:
        """The rows by file: a commit writes one for each of its partitions."""
        names = [column.name for column in self.columns if column.is_partition]
        found: dict[tuple[int, str], list[Row]] = {}
        for number, rows in enumerate(self.commits):
            for row in rows:
                found.setdefault((number, repr([row[name] for name in names])), []).append(row)
        return list(found.values())

    def beside_nan(self, column: Column) -> list[set[float]]:
        """For each file with NaN in a column, its other numbers, of which its bounds are."""
        files = [{row[column.name] for row in rows} - {None} for rows in self.files]
        return [
            {value for value in values if not is_nan(value)}
            for values in files
            if any(map(is_nan, values))
        ]


def random_table(seed: int, *, for_pyiceberg: bool = True) -> RandomTable:
    """A table with up to two partition columns, and with some files that have only nulls."""
    rng = Random(seed)
    others = [name for name in KINDS if name not in _TRICKY]
    kinds = ["string", rng.choice(("float", "double")), *rng.sample(others, 2)]
    names = iter(rng.sample(_NAMES, len(_NAMES)))
    columns = [Column(ID, KINDS["long"]), *(Column(next(names), KINDS[kind]) for kind in kinds)]
    parts = [
        Column(next(names).replace(".", "_"), KINDS[rng.choice(_PARTITIONS)], is_partition=True)
        for _ in range(rng.randint(0, 2))
    ]
    pools = {part.name: _partition_pool(rng, part.kind, for_pyiceberg) for part in parts}
    commits: list[list[Row]] = []
    for number in range(rng.randint(2, 3)):
        values = {each.name: _column_pool(rng, each.kind) for each in columns} | pools
        commits.append(
            [
                {name: rng.choice(pool) for name, pool in values.items()} | {ID: number * 100 + place}
                for place in range(rng.randint(1, 5))
            ]
        )
    return RandomTable(seed, [*columns, *parts], commits, mapped=rng.random() < 0.3)


def random_filter(table: RandomTable, rng: Random) -> Filter:
    """A filter of the columns of a table, nested up to three deep."""
    return _filter(table, rng, depth=3)


def _column_pool(rng: Random, kind: FilterKind) -> list[Any]:
    """The values of a column in one file: few, so that bounds of files are often disjoint."""
    chance = rng.random()
    if chance < 0.15:
        return [None]
    first, other = kind.draw(rng), kind.draw(rng)
    if kind.is_float and chance > 0.7:  # statistics leave NaN out: all values seem to be the same
        return [first, math.nan]
    values = [first, kind.beside(rng, first), other]
    return [*values, None] if chance < 0.6 else values


def _partition_pool(rng: Random, kind: FilterKind, for_pyiceberg: bool) -> list[Any]:
    values = [partition_value(kind, rng, for_pyiceberg=for_pyiceberg) for _ in range(2)]
    return [*values, None] if rng.random() < 0.6 else values


def _filter(table: RandomTable, rng: Random, depth: int) -> Filter:
    chance = rng.random()
    if depth == 0 or chance < 0.3:
        return _test(table, rng, rng.choice(table.columns))
    if chance < 0.5:
        return Not(_filter(table, rng, depth - 1))
    count = rng.randint(2, 3)
    return Junction(rng.random() < 0.5, [_filter(table, rng, depth - 1) for _ in range(count)])


def _test(table: RandomTable, rng: Random, column: Column) -> Test:
    ops = [Op.IS_NULL, Op.NOT_NULL]
    if column.kind.is_float:
        ops += [Op.IS_NAN, Op.NOT_NAN]
    if column.kind.is_text:
        ops += [Op.STARTS_WITH, Op.NOT_STARTS_WITH] * 3
    op = rng.choice([*ops, *_ORDERS * 2, *(Op.IN, Op.NOT_IN) * 2])
    match op:
        case Op.IS_NULL | Op.NOT_NULL | Op.IS_NAN | Op.NOT_NAN:
            return Test(op, column)
        case Op.IN | Op.NOT_IN:
            members = [_literal(table, rng, column) for _ in range(rng.randint(2, 4))]
            # Arrow's `is_in` distinguishes 0.0 from -0.0.
            distinct = tuple(dict.fromkeys(each for each in members if not _is_zero(each)))
            return Test(op, column, distinct or (_one(column),))
        case Op.STARTS_WITH | Op.NOT_STARTS_WITH:
            literal = _literal(table, rng, column)
            return Test(op, column, (literal[: rng.randint(0, len(literal))],))
    return Test(op, column, (_literal(table, rng, column),))


def _is_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0


def _one(column: Column) -> Any:
    return 1.0 if column.kind.is_float else column.kind.draw(Random(0))


def _literal(table: RandomTable, rng: Random, column: Column) -> Any:
    """A value of the column, one beside it, or any other. JSON lacks NaN and infinity."""
    known = [row[column.name] for row in table.rows]
    known = [value for value in known if value is not None and not _inexpressible(value)]
    chance = rng.random()
    while known and chance < 0.75:
        value = rng.choice(known)
        found = value if chance < 0.45 else column.kind.beside(rng, value)
        if not _inexpressible(found):
            return found
    while _inexpressible(value := column.kind.draw(rng)):
        pass
    return value


def _inexpressible(value: Any) -> bool:
    return is_nan(value) or (isinstance(value, float) and math.isinf(value))
