"""Random histories: the same seed and flavour make the same one, always."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from histories.history import (
    AddColumn,
    Checkpoint,
    Column,
    Delete,
    DropColumn,
    Flavour,
    History,
    Insert,
    Kind,
    Merge,
    Operation,
    Optimize,
    Overwrite,
    RenameColumn,
    Rows,
    SetFeed,
    Update,
    Vacuum,
    columns_after,
)

FEED = "delta.enableChangeDataFeed"
_BEYOND_PLAIN = {"delta.enableInCommitTimestamps": "true", "delta.checkpointPolicy": "v2"}
_COLUMNS = (
    Column("id", "long"),
    Column("part", "string"),
    Column("n", "integer"),
    Column("text", "string"),
    Column("day", "date"),
)
_PARTS = ("a", "b", "c")
_ESCAPED_PARTS = ("a", "b c", "ü/%25")  # what has to be escaped in paths
_PARTITIONS = ((), ("part",), ("part", "day"))
_ADDED: tuple[Kind, ...] = ("string", "double", "long")
_FIXED = frozenset({"id", "part", "n", "day"})  # columns that operations name, or that partition


def history(seed: int, flavour: Flavour, length: int) -> History:
    """The history of a seed: a first insert, and so many operations behind it."""
    return _Generator(seed, flavour).history(length)


class _Generator:
    def __init__(self, seed: int, flavour: Flavour) -> None:
        self._seed = seed
        self._flavour = flavour
        self._dice = random.Random(f"{flavour} {seed}")
        self._columns: tuple[Column, ...] = _COLUMNS
        self._next_id = 0
        self._feed = self._dice.random() < 0.7
        self._parts = _ESCAPED_PARTS if self._dice.random() < 0.25 else _PARTS

    def history(self, length: int) -> History:
        feed, partitions = self._feed, self._dice.choice(_PARTITIONS)
        operations: list[Operation] = [Insert(self._new_rows())]
        mapped = self._flavour.column_mapping != "none"
        makers = {**_MAKERS, **_MAPPED_MAKERS} if mapped else _MAKERS
        while len(operations) <= length:
            make = self._dice.choices(list(makers), list(makers.values()))[0]
            if made := make(self):
                operations.append(made)
                self._columns = columns_after(self._columns, made)
        return History(
            self._seed,
            self._flavour,
            _COLUMNS,
            partitions,
            tuple(operations),
            ({FEED: "true"} if feed else {}) | self._beyond_plain(),
        )

    def _beyond_plain(self) -> dict[str, str]:
        """Properties that only some writers know."""
        if self._flavour == Flavour():
            return {}
        return {name: value for name, value in _BEYOND_PLAIN.items() if self._dice.random() < 0.3}

    def insert(self) -> Operation:
        return Insert(self._new_rows())

    def update(self) -> Operation:
        where, salt = self._some_ids(), self._dice.randrange(100)
        moved = Update(where, "part", self._dice.choice(self._parts))
        return self._dice.choice([Update(where, "n", salt), Update(where, "n", salt), moved])

    def delete(self) -> Operation:
        part = f"part = '{self._dice.choice(self._parts)}'"
        return Delete(self._dice.choice([self._some_ids(), self._some_ids(), part, "part IS NULL"]))

    def merge(self) -> Operation:
        overlap = self._dice.randint(0, min(4, self._next_id))
        rows = self._rows(self._next_id - overlap, overlap + self._dice.randint(1, 4))
        return Merge(rows)

    def overwrite(self) -> Operation:
        part = self._dice.choice([None, *self._parts])
        return Overwrite(self._new_rows(part), part)

    def add_column(self) -> Operation:
        number = len(self._columns)
        return AddColumn(Column(f"added{number}", self._dice.choice(_ADDED)))

    def rename_column(self) -> Operation | None:
        old = self._free_column()
        if old is None:
            return None
        return RenameColumn(old, f"{old.partition(' ')[0]} ({self._dice.randrange(1000)}, ü)")

    def drop_column(self) -> Operation | None:
        name = self._free_column()
        return None if name is None else DropColumn(name)

    def set_feed(self) -> Operation:
        self._feed = not self._feed
        return SetFeed(self._feed)

    def _new_rows(self, part: str | None = None) -> Rows:
        return self._rows(self._next_id, self._dice.randint(2, 9), part)

    def _rows(self, first: int, count: int, part: str | None = None) -> Rows:
        self._next_id = max(self._next_id, first + count)
        parts = (*self._parts, None) if part is None else (part,)
        return Rows(first, count, self._dice.randrange(1000), parts)

    def _some_ids(self) -> str:
        divisor = self._dice.randint(2, 6)
        return f"id % {divisor} = {self._dice.randrange(divisor)}"

    def _free_column(self) -> str | None:
        free = [column.name for column in self._columns if column.name not in _FIXED]
        return self._dice.choice(free) if free else None


# How often each operation comes.
_MAKERS: Mapping[Callable[[_Generator], Operation | None], int] = {
    _Generator.insert: 6,
    _Generator.update: 4,
    _Generator.delete: 4,
    _Generator.merge: 4,
    _Generator.overwrite: 2,
    _Generator.add_column: 2,
    _Generator.set_feed: 1,
    lambda _: Optimize(): 2,
    lambda _: Vacuum(): 1,
    lambda _: Checkpoint(): 2,
}
_MAPPED_MAKERS: Mapping[Callable[[_Generator], Operation | None], int] = {
    _Generator.rename_column: 2,
    _Generator.drop_column: 1,
}
