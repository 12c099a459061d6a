from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from support.gateways.hadoop_lake import HadoopLake, hadoop_lake, vending_storage
from support.gateways.s3_lake import write_table

from sluicegate_testing.servers.seaweedfs import SeaweedFS


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopLake]:
    folder = tmp_path_factory.mktemp("hadoop")
    with SeaweedFS.start(folder / "store") as server:
        for name in ("orders", "visits"):
            write_table(server, name, pa.table({"id": [1]}))
        tables: dict[str, dict[str, Any]] = {
            "orders": {"table": f"s3://{server.bucket}/orders"},
            "visits": {"table": f"s3://{server.bucket}/visits"},
            "urls_only": {"table": f"s3://{server.bucket}/orders", "access_modes": ["url"]},
        }
        storage = [vending_storage(server, allowed_bindings=["full"])]
        with hadoop_lake(folder / "gateway", storage, tables) as running:
            yield running
        assert "Traceback" not in running.gateway.log
