"""What the first request after a start loads is a part of its time, and holds up nobody."""

from __future__ import annotations

from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.shared_lake import shared_lake

# Arrow loads it where it is installed. This one takes until the test lets it, as on a busy machine.
_SLOW_PANDAS = """
import time
from pathlib import Path

while not Path("loaded").exists():
    time.sleep(0.05)
raise ImportError("this is not pandas")
"""


def test_a_query_id_is_answered_while_the_first_request_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "pandas.py").write_text(_SLOW_PANDAS)
    monkeypatch.setenv("PYTHONPATH", str(site))
    settings = {"sharing": {"async_after": "1s"}}
    with shared_lake(tmp_path, tables=1, settings=settings) as lake:
        table = lake.table()
        write_deltalake(table.root, pa.table({"id": [1]}))
        client = lake.client()
        body = {"idempotencyKey": "first"}
        headers = {"delta-sharing-capabilities": "asyncquery=true"}
        pending = client.post(f"{table.path()}/query", json=body, headers=headers)
        live = client.get(f"{lake.gateway.address}/livez")
        (tmp_path / "loaded").touch()
        status = orjson.loads(pending.text)["queryStatus"]
        poll = f"{table.path()}/queries/{status['queryId']}"
        answer = client.post(poll, json={"queryId": status["queryId"]}, headers=headers)
        while "queryStatus" in answer.text:
            answer = client.post(poll, json={"queryId": status["queryId"]}, headers=headers)
    assert status["status"] == "pending"
    assert live.status_code == 200
    assert '"file"' in answer.text
