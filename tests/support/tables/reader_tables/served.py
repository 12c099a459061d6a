"""A reader table: how it is written, and how the gateway serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Unreadable:
    """An error of the sharing protocol, and what its message says."""

    status: int
    code: str
    message: str


@dataclass(frozen=True)
class Served:
    """How recipients get a table; by default its rows, in parquet and in delta format.

    Attributes:
        unreadable: The answer where reading must fail.
    """

    features: Sequence[str] = ()
    stand_ins: Sequence[str] | None = None
    zone: tuple[str, str] | None = None
    unreadable: Unreadable | None = None

    @property
    def plain(self) -> bool:
        """Whether its rows are served in both formats."""
        return not self.features and self.stand_ins is None and self.unreadable is None


@dataclass(frozen=True)
class ReaderTable:
    """A table that a function writes: `delta/` and, where it has rows, `expected/` in a folder."""

    write: Callable[[Path], None]
    served: Served = Served()


def broken(message: str) -> Served:
    """Served as a table whose log cannot be read."""
    return Served(unreadable=Unreadable(400, "TABLE_UNREADABLE", message))


def missing() -> Served:
    """Served as a location without a Delta table."""
    return Served(unreadable=Unreadable(404, "RESOURCE_DOES_NOT_EXIST", "_delta_log"))
