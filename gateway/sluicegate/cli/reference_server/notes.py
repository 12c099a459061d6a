"""The report of an import: what became of each setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sluicegate._util.printable import printable
from sluicegate.config.yaml import Document, Location

Outcome = Literal["translated", "changed", "dropped", "untranslatable", "warning"]

_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Note:
    """What became of a setting.

    Attributes:
        line: Its line, from 1; 0 if the source doesn't contain it.
    """

    outcome: Outcome
    key: str
    line: int
    message: str

    def __str__(self) -> str:
        """A line of the report."""
        where = f" (line {self.line})" if self.line else ""
        return f"{self.outcome:<14} {self.key}{where}: {self.message}"


class Notes:
    """Collects notes about the settings of a document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.all: list[Note] = []

    def add(self, outcome: Outcome, location: Location, message: str) -> None:
        """Add a note about the setting at a location, which the source may lack."""
        there = self._document.path_to(location) == tuple(map(str, location))
        line = self._document.position(location, key=True)[0] if there else 0
        self.all.append(Note(outcome, _shown(location), line, printable(message)))

    def of(self, *outcomes: Outcome) -> Sequence[Note]:
        """The notes with these outcomes."""
        return [note for note in self.all if note.outcome in outcomes]


def _shown(location: Location) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:_LONGEST]}" for part in location)
    return printable("".join(parts).removeprefix("."))
