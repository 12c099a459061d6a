"""What happened to a table, as plain data that prints itself: any writer can do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["long", "integer", "string", "double", "date"]
ColumnMapping = Literal["none", "name", "id"]


@dataclass(frozen=True)
class Column:
    """A column and its Delta type."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Flavour:
    """Which of the table features beyond the first reader version a table has."""

    deletion_vectors: bool = False
    column_mapping: ColumnMapping = "none"

    def __str__(self) -> str:
        vectors = "vectors" if self.deletion_vectors else ""
        mapping = "" if self.column_mapping == "none" else f"mapped-by-{self.column_mapping}"
        return "-".join(filter(None, (vectors, mapping))) or "plain"


@dataclass(frozen=True)
class Rows:
    """Rows of consecutive ids; the salt makes their other values."""

    first: int
    count: int
    salt: int
    parts: tuple[str | None, ...]


@dataclass(frozen=True)
class Insert:
    """Append rows."""

    rows: Rows


@dataclass(frozen=True)
class Update:
    """Set a column to a constant in the rows of an SQL condition."""

    where: str
    column: str
    value: str | int


@dataclass(frozen=True)
class Delete:
    """Delete the rows of an SQL condition."""

    where: str


@dataclass(frozen=True)
class Merge:
    """Update the rows of known ids, insert the others."""

    rows: Rows


@dataclass(frozen=True)
class Overwrite:
    """Replace all rows, or those of one `part` by rows that have it."""

    rows: Rows
    part: str | None = None


@dataclass(frozen=True)
class AddColumn:
    """Add a column; the rows that are there have null in it."""

    column: Column


@dataclass(frozen=True)
class RenameColumn:
    """Rename a column (column mapping only)."""

    old: str
    new: str


@dataclass(frozen=True)
class DropColumn:
    """Drop a column (column mapping only)."""

    name: str


@dataclass(frozen=True)
class SetFeed:
    """Turn the change data feed on or off."""

    on: bool


@dataclass(frozen=True)
class Optimize:
    """Compact small files: other files, the same rows."""


@dataclass(frozen=True)
class Vacuum:
    """Delete every file that the latest version does not need."""


@dataclass(frozen=True)
class Checkpoint:
    """Write a checkpoint of the latest version."""


Operation = (
    Insert
    | Update
    | Delete
    | Merge
    | Overwrite
    | AddColumn
    | RenameColumn
    | DropColumn
    | SetFeed
    | Optimize
    | Vacuum
    | Checkpoint
)


@dataclass(frozen=True)
class History:
    """A table from its creation on."""

    seed: int
    flavour: Flavour
    columns: tuple[Column, ...]
    partition_columns: tuple[str, ...]
    operations: tuple[Operation, ...]
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for its table."""
        return f"{self.flavour}_{self.seed}".replace("-", "_")

    def __str__(self) -> str:
        """The seed and the operations: all that is needed to repeat it."""
        head = (
            f"history {self.seed} of {self.flavour} tables: columns {self.columns}, "
            f"partitioned by {self.partition_columns}, properties {self.properties}"
        )
        return "\n".join(
            [head, *(f"  {number}. {each}" for number, each in enumerate(self.operations))]
        )


def columns_after(columns: Sequence[Column], operation: Operation) -> tuple[Column, ...]:
    """The columns of a table behind an operation."""
    match operation:
        case AddColumn(column):
            return (*columns, column)
        case RenameColumn(old, new):
            return tuple(Column(new, each.kind) if each.name == old else each for each in columns)
        case DropColumn(name):
            return tuple(each for each in columns if each.name != name)
        case _:
            return tuple(columns)
