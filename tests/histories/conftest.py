from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.shared_lake import SharedLake, shared_lake
from support.process.random_cases import times


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    tables = 200 if times() > 1 else 30
    with shared_lake(tmp_path_factory.mktemp("histories"), tables=tables) as running:
        yield running
