from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.shared_lake import LakeTable, SharedLake, shared_lake
from support.process.random_cases import times


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    with shared_lake(tmp_path_factory.mktemp("changes"), tables=900 if times() > 1 else 320) as running:
        yield running


@pytest.fixture
def table(lake: SharedLake) -> LakeTable:
    return lake.table()
