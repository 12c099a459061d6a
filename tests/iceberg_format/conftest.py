from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.iceberg_sharing import IcebergSharing, iceberg_sharing


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSharing]:
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(tmp_path_factory.mktemp("iceberg"), patch) as running,
    ):
        yield running
