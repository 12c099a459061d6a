from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.golden import require_golden_tables
from support.golden_gateway import GoldenGateway, golden_gateway


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenGateway]:
    require_golden_tables()
    with golden_gateway(tmp_path_factory.mktemp("clients")) as running:
        yield running
