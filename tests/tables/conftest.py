from __future__ import annotations

from pathlib import Path

import pytest
from support.deltalog import DeltaFolder
from support.golden import GoldenTables


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> GoldenTables:
    return GoldenTables(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder(tmp_path / "table")
