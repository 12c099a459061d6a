"""What requests before the gateway is ready load is a part of their time, and delays no others."""

from __future__ import annotations

from pathlib import Path

import orjson
from support.gateways.starting_gateway import HELD_UP, QUERY, starting_gateway


def test_a_query_id_is_answered_while_the_gateway_still_loads(tmp_path: Path) -> None:
    with starting_gateway(tmp_path, {"sitecustomize.py": HELD_UP}) as gateway:
        gateway.wait_until_loading()
        body = {"idempotencyKey": "first"}
        headers = {"delta-sharing-capabilities": "asyncquery=true"}
        pending = gateway.http.post(QUERY, json=body, headers=headers)
        live = gateway.http.get("/livez")
        gateway.let_load()
        status = orjson.loads(pending.text)["queryStatus"]
        poll = f"{QUERY.removesuffix('/query')}/queries/{status['queryId']}"
        answer = gateway.http.post(poll, json={"queryId": status["queryId"]}, headers=headers)
        while "queryStatus" in answer.text:
            answer = gateway.http.post(poll, json={"queryId": status["queryId"]}, headers=headers)
    assert status["status"] == "pending"
    assert live.status_code == 200
    assert '"file"' in answer.text
