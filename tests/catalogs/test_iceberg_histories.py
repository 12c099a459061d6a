"""Random histories in a real Iceberg catalog: the same rows through both protocols."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.catalog.rest import RestCatalog
from support.gateways.iceberg_rest import SCHEMA, SHARE, WAREHOUSE, gateway_of, written_by
from support.tables.iceberg_history import SCHEMA as COLUMNS
from support.tables.iceberg_history import IcebergHistory
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_SEEDS, _LENGTH = 3, 6

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]


def test_both_doors_show_what_pyiceberg_reads(tmp_path: Path) -> None:
    with (
        SeaweedFS.start(tmp_path / "seaweedfs", warehouse=WAREHOUSE) as server,
        gateway_of(
            tmp_path / "gateway", server, server.iceberg_uri, {"access_modes": ["url", "dir"]}
        ) as (gateway, recipient),
    ):
        writer = written_by(server)
        writer.create_namespace(SCHEMA)
        token = json.loads(recipient.profile.read_text())["bearerToken"]
        client = RestCatalog("share", uri=f"{gateway.address}/iceberg", warehouse=SHARE, token=token)
        for seed in range(_SEEDS):
            name = f"t{seed}"
            table = writer.create_table((SCHEMA, name), schema=COLUMNS)
            history = IcebergHistory(table, seed)
            for _ in range(_LENGTH):
                history.change()
                print(seed, history.done)  # all that is needed to repeat it, where this fails
                truth = table.scan().to_arrow()
                assert_same_rows(truth, recipient.read(name))
                found = client.load_table((SCHEMA, name)).scan().to_arrow()
                assert found.sort_by("id").equals(truth.sort_by("id"))
