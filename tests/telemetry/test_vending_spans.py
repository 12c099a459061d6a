"""Spans and metrics of a gateway that vends and refuses hold none of its secrets."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from support.gateways.s3_lake import s3_lake, storage_of, write_table
from support.servers.telemetry import Collector

from sluicegate_testing.secrets import registered
from sluicegate_testing.servers.seaweedfs import SeaweedFS


def test_exports_hold_nothing_that_was_given(tmp_path: Path, collector: Collector) -> None:
    with SeaweedFS.start(tmp_path / "store") as server:
        write_table(server, "orders", pa.table({"id": [1, 2]}))
        vending = {"sts_endpoint": server.endpoint, "vending": {"role_arn": server.role_arn}}
        lake = s3_lake(
            tmp_path / "gateway",
            storage_of(server) | vending,
            ["orders"],
            options={"access_modes": ["url", "dir"]},
            telemetry={"otlp_endpoint": collector.endpoint},
        )
        with lake as asked:
            given = asked.credentials("orders").json()["credentials"]["awsTempCredentials"]
            assert asked.files("orders")
            assert asked.credentials("orders", "s3://lake/secret").status_code == 400

    secrets = registered()
    assert {given["secretAccessKey"], given["sessionToken"]} <= secrets
    exported = b"".join(body for _, body in collector.payloads)
    assert any("temporary-table-credentials" in name for name in collector.spans), collector.spans
    assert [secret[:4] for secret in secrets if secret.encode() in exported] == []
