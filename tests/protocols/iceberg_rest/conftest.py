from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.iceberg_gateway import IcebergGateway, iceberg_gateway


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergGateway]:
    with iceberg_gateway(tmp_path_factory.mktemp("iceberg")) as running:
        yield running
