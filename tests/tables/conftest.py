from __future__ import annotations

from pathlib import Path

import pytest
from support.tables.deltalog import DeltaFolder
from support.tables.reader_tables.tables import ReaderTables


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> ReaderTables:
    return ReaderTables(tmp_path_factory.mktemp("readers"))


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder(tmp_path / "table")
