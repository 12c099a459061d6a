"""Two gateways on one PostgreSQL."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.gateways.in_process import Answer, InProcessGateway, Request, in_process_gateway
from support.gateways.limited_lake import FILES, QUERY, new_tokens, write_lake
from support.servers.postgres import PostgresServer

from sluicegate.access.limits import assembly
from sluicegate.config import load_settings

SECONDS = 30


def test_two_gateways_on_one_database_share_a_quota(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "INTERVAL", 0.01)
    recipients, database = {"acme": {"files_per_day": 2 * FILES}}, postgres.new_database()
    write_lake(tmp_path, recipients, {"database": database})
    [token] = new_tokens(database, recipients).values()
    settings = load_settings(tmp_path / "gateway.yaml")
    authorization = [("authorization", f"Bearer {token}")]
    query = Request("POST", QUERY, authorization, b"{}")
    listing = Request("GET", "/delta-sharing/shares", authorization)

    def used_up(gateway: InProcessGateway) -> bool:
        return '"files";r=0;' in gateway.send(listing).headers["ratelimit"]

    with in_process_gateway(settings) as one, in_process_gateway(settings) as two:
        for gateway in (one, two):
            assert gateway.send(query).status == 200
        for gateway in (one, two):
            until = time.monotonic() + SECONDS
            while not used_up(gateway) and time.monotonic() < until:
                time.sleep(0.01)
            _check_refused(gateway.send(query))
    with in_process_gateway(settings) as restarted:
        _check_refused(restarted.send(query))


def _check_refused(answer: Answer) -> None:
    assert answer.status == 429
    assert f"it got {2 * FILES} today" in answer.json["message"]
