"""Random histories of Iceberg tables, written by PyIceberg; a seed tells one from the others."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import DoubleType, IntegerType, LongType, NestedField, StringType
from support.tables.iceberg_deletes import delete_positions

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "price", DoubleType()),
    NestedField(4, "count", IntegerType()),
)
_NAMES = ("name", "price", "count", "city", "note", "a b")


class IcebergHistory:
    """Changes a table at random; `id` stays, and is unique.

    Args:
        stable: Columns are only added, and never called as a reader of change feeds cannot know them.
    """

    def __init__(self, table: Table, seed: int, *, stable: bool = False) -> None:
        self._table = table
        self._stable = stable
        self._dice = random.Random(seed)
        self._next = 0
        self.done: list[str] = []

    def change(self) -> None:
        """One more change."""
        changes: list[Callable[[], None]] = [
            self._append,
            self._append,
            self._delete,
            self._delete_positions,
            self._delete_positions,
            self._overwrite,
            self._upsert,
            self._add,
            self._roll_back,
            *([] if self._stable else [self._rename, self._drop]),
        ]
        change = self._dice.choice(changes) if self.done else self._append
        self.done.append(change.__name__.strip("_"))
        change()
        self._table.refresh()

    def _rows(self, ids: list[int]) -> pa.Table:
        schema = self._table.schema().as_arrow()
        columns = [
            pa.array(ids if field.name == "id" else self._values(field.type, len(ids)), field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)

    def _values(self, type_: pa.DataType, count: int) -> list[object]:
        numeric = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        values = [self._dice.randint(-9, 9) for _ in range(count)]
        return [None if value == 0 else value if numeric else f"v{value}" for value in values]

    def _new_ids(self) -> list[int]:
        first, self._next = self._next, self._next + self._dice.randint(1, 6)
        return list(range(first, self._next))

    def _known_ids(self) -> list[int]:
        ids: list[int] = self._table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
        return self._dice.sample(sorted(ids), min(len(ids), 3))

    def _files(self) -> list[str]:
        """The live data files by their first ids: their names are no dice of ours."""
        files = [task.file for task in self._table.scan().plan_files()]
        return [file.file_path for file in sorted(files, key=_first_id)]

    def _append(self) -> None:
        self._table.append(self._rows(self._new_ids()))

    def _delete(self) -> None:
        for id_ in self._known_ids():
            self._table.delete(f"id = {id_}")

    def _delete_positions(self) -> None:
        files = self._files()
        if files:
            chosen = self._dice.sample(files, min(len(files), 2))
            delete_positions(self._table, {path: [self._dice.randint(0, 1)] for path in chosen})

    def _overwrite(self) -> None:
        self._table.overwrite(self._rows(self._new_ids()), f"id < {self._dice.randint(0, 9)}")

    def _upsert(self) -> None:
        # Not by PyIceberg's `upsert`, which fails where the current snapshot has other column names.
        known = self._known_ids()
        rows = self._rows([*known, *self._new_ids()])
        listed = ", ".join(map(str, known))
        self._table.overwrite(rows, f"id in ({listed})" if known else "id < 0")

    def _others(self) -> list[str]:
        return [field.name for field in self._table.schema().fields if field.name != "id"]

    def _free(self) -> list[str]:
        return [
            name for name in _NAMES if name not in self._others() and not (self._stable and " " in name)
        ]

    def _rename(self) -> None:
        if self._others():
            with self._table.update_schema() as update:
                update.rename_column(self._dice.choice(self._others()), self._dice.choice(self._free()))

    def _add(self) -> None:
        if free := self._free():
            with self._table.update_schema() as update:
                update.add_column(self._dice.choice(free), StringType())

    def _drop(self) -> None:
        if self._others():
            with self._table.update_schema(allow_incompatible_changes=True) as update:
                update.delete_column(self._dice.choice(self._others()))

    def _roll_back(self) -> None:
        current = self._table.current_snapshot()
        if current and current.parent_snapshot_id:
            self._table.manage_snapshots().set_current_snapshot(current.parent_snapshot_id).commit()


def numbered_snapshots(table: Table) -> list[tuple[int, Snapshot]]:
    """The current snapshot and those that led to it, ascending, each with its sequence number."""
    found, snapshot = [], table.current_snapshot()
    while snapshot is not None:
        assert snapshot.sequence_number is not None
        found.append((snapshot.sequence_number, snapshot))
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return found[::-1]


def _first_id(file: DataFile) -> int:
    return int.from_bytes(file.lower_bounds[1], "little")
