from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.reader_gateway import ReaderGateway, reader_gateway


@pytest.fixture(scope="session")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReaderGateway]:
    with reader_gateway(tmp_path_factory.mktemp("clients")) as running:
        yield running
