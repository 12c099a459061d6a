"""A gateway that can't write its audit log refuses, serves health checks, and recovers by itself."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from support.gateways.folder_site import LISTING, QUERY, Site
from support.gateways.gateway import running_gateway


@pytest.mark.parametrize("sink", ["database", "file"])
def test_a_full_disk_refuses_until_there_is_space(tmp_path: Path, sink: str) -> None:
    section = {"type": "file", "path": str(tmp_path / "records")} if sink == "file" else {"type": sink}
    site = Site(tmp_path, {"audit": {"sinks": [section]}})
    with running_gateway(tmp_path) as gateway, site.client(gateway) as client:
        assert client.get(LISTING).status_code == 200
        before = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
        refused = client.post(QUERY, json={})
        assert refused.status_code == 503
        assert refused.json() == {
            "errorCode": "TEMPORARILY_UNAVAILABLE",
            "message": "the audit log can't be written; try again later",
        }
        assert client.get(f"{gateway.address}/livez").status_code == 200
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, before)
        statuses = [client.post(QUERY, json={}).status_code for _ in range(3)]
        assert statuses[-1] == 200
        assert "Traceback" not in gateway.log
    gateway.command("audit", "verify")
