"""The Delta project's own reader tables, unpacked from `../shared/golden-tables` of the checkout."""

from __future__ import annotations

import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

import zstandard
from support.beside import require_beside

_SUFFIX = ".tar.zst"


@dataclass(frozen=True)
class GoldenTable:
    """One table: where it lies, and the rows that a correct reader returns (`None`: not given)."""

    name: str
    location: Path
    expected: Path | None


class GoldenTables:
    """Unpacks tables into a folder, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def table(self, name: str) -> GoldenTable:
        """A table by its name; skips the test where the tables are not at hand, fails it in CI."""
        require_golden_tables()
        root = self._folder / name
        if not root.exists():
            _unpack(golden_folder() / f"{name}{_SUFFIX}", self._folder)
        expected = root / "expected"
        return GoldenTable(name, root / "delta", expected if expected.exists() else None)


def golden_folder() -> Path:
    """Where the archives are."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "golden-tables"
    return Path(os.environ.get("SLUICEGATE_GOLDEN_TABLES") or beside)


def golden_names() -> list[str]:
    """Names of all tables; empty where they are not at hand."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in golden_folder().glob(f"*{_SUFFIX}"))


def require_golden_tables() -> None:
    """Skip where the tables are not at hand; in CI that is a failure."""
    require_beside(
        bool(golden_names()), "the Delta project's golden tables", "SLUICEGATE_GOLDEN_TABLES"
    )


def _unpack(archive: Path, folder: Path) -> None:
    with (
        archive.open("rb") as compressed,
        zstandard.ZstdDecompressor().stream_reader(compressed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="data")
