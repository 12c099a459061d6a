"""What the first request after a start loads is a part of its time, and holds up nobody."""

from __future__ import annotations

from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.shared_lake import shared_lake

# The first query loads Arrow. Here that takes until the test allows it, as on a busy machine.
_SLOW_ARROW = """
import sys
import time
from pathlib import Path


class Slow:
    def find_spec(self, fullname, path=None, target=None):
        if fullname == "pyarrow":
            Path("loading").touch()
            while not Path("loaded").exists():
                time.sleep(0.05)


sys.meta_path.insert(0, Slow())
"""


def test_a_query_id_is_answered_while_the_first_request_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_SLOW_ARROW)
    monkeypatch.setenv("PYTHONPATH", str(site))
    settings = {"sharing": {"async_query_threshold": "1s"}}
    with shared_lake(tmp_path, tables=1, settings=settings) as lake:
        table = lake.table()
        write_deltalake(table.root, pa.table({"id": [1]}))
        client = lake.client()
        body = {"idempotencyKey": "first"}
        headers = {"delta-sharing-capabilities": "asyncquery=true"}
        pending = client.post(f"{table.path()}/query", json=body, headers=headers)
        live = client.get(f"{lake.gateway.address}/livez")
        assert (tmp_path / "loading").exists()
        (tmp_path / "loaded").touch()
        status = orjson.loads(pending.text)["queryStatus"]
        poll = f"{table.path()}/queries/{status['queryId']}"
        answer = client.post(poll, json={"queryId": status["queryId"]}, headers=headers)
        while "queryStatus" in answer.text:
            answer = client.post(poll, json={"queryId": status["queryId"]}, headers=headers)
    assert status["status"] == "pending"
    assert live.status_code == 200
    assert '"file"' in answer.text
