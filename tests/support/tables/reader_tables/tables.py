"""The tables of reader tests: the suite's own, and the golden ones where they are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from support.tables.golden import golden_served, unpack
from support.tables.reader_tables.own import OWN
from support.tables.reader_tables.served import Served


@dataclass(frozen=True)
class WrittenTable:
    """One table: where it lies, and the rows that a correct reader returns (`None`: not given)."""

    name: str
    location: Path
    expected: Path | None


class ReaderTables:
    """Writes or unpacks tables into a folder, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def table(self, name: str) -> WrittenTable:
        """A table by its name."""
        root = self._folder / name
        if not root.exists():
            if name in OWN:
                OWN[name].write(root)
            else:
                unpack(name, self._folder)
        expected = root / "expected"
        return WrittenTable(name, root / "delta", expected if expected.exists() else None)


def served_tables() -> dict[str, Served]:
    """Every table by its name, and how it is served."""
    return {name: table.served for name, table in OWN.items()} | golden_served()
