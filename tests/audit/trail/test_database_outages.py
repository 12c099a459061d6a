"""A gateway whose PostgreSQL stops or hangs refuses or goes on, as configured, and recovers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from support.gateways.folder_site import LISTING, QUERY, Site
from support.gateways.gateway import RunningGateway, running_gateway
from support.servers.postgres import PostgresServer, running_postgres

pytestmark = pytest.mark.xdist_group("audit-database-outages")

OUTAGES = ["stopped", "hangs"]
_REFUSED = "the audit log can't be written; try again later"
_NOT_READY = "the gateway's database does not respond; try again later"
# The share of requests with records of about 12 kB, which soon fill the memory for those that wait:
# clients choose the names in paths, and characters that are not printable are long in JSON.
_UNKNOWN = quote(chr(0xE0001) * 500)
_UNKNOWN_COUNT = 1600
_SECONDS = 60


@dataclass
class Audited:
    """A gateway, its only client, and the ids of all responses that the log must account for."""

    site: Site
    gateway: RunningGateway
    client: httpx.Client
    answered: list[str] = field(default_factory=list)

    def query(self) -> httpx.Response:
        return self.get(QUERY, "POST")

    def get(self, url: str, method: str = "GET") -> httpx.Response:
        response = self.client.request(method, url, json={} if method == "POST" else None)
        self.answered.append(response.headers["x-request-id"])
        return response

    def health(self, name: str) -> httpx.Response:
        return self.client.get(f"{self.gateway.address}/{name}")

    def send_unknown(self, count: int) -> None:
        """Send many requests that need nothing from the database."""
        place = urlsplit(self.gateway.endpoint)
        connection = HTTPConnection(place.netloc, timeout=_SECONDS)
        headers = {"Authorization": f"Bearer {self.site.token}"}
        for _ in range(count):
            connection.request("GET", f"{place.path}/shares/{_UNKNOWN}/schemas", headers=headers)
            response = connection.getresponse()
            response.read()
            self.answered.append(str(response.getheader("x-request-id")))
        connection.close()

    def recover(self) -> None:
        """Wait until the gateway serves again, which it does without a restart."""
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            if self.health("readyz").status_code == 200 and self.query().status_code == 200:
                return
        raise AssertionError(f"the gateway does not recover: {self.gateway.log}")

    def records(self) -> list[dict[str, Any]]:
        options = ("--since", "1d", "--limit", "100000", "--json")
        found: list[dict[str, Any]] = json.loads(self.gateway.command("audit", "search", *options))
        return found


@contextmanager
def _serving(folder: Path, postgres: PostgresServer, mode: str) -> Iterator[Audited]:
    settings = {"database": postgres.new_database(), "signing_key": "5e" * 32, "audit": mode}
    site = Site(folder, settings)
    with running_gateway(folder) as gateway, site.client(gateway) as client:
        yield Audited(site, gateway, client)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def required(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Audited]:
    with _serving(tmp_path_factory.mktemp("required"), postgres, "required") as audited:
        yield audited


@pytest.fixture(scope="module")
def best_effort(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[Audited]:
    with _serving(tmp_path_factory.mktemp("best-effort"), postgres, "best_effort") as audited:
        yield audited


def _outage(postgres: PostgresServer, kind: str) -> AbstractContextManager[None]:
    return postgres.stopped() if kind == "stopped" else postgres.hanging()


def _file_url(response: httpx.Response) -> str:
    lines = [json.loads(line) for line in response.text.splitlines()]
    return str(next(line["file"]["url"] for line in lines if "file" in line))


@pytest.mark.parametrize("kind", OUTAGES)
def test_a_required_log_refuses_until_the_database_is_back(
    required: Audited, postgres: PostgresServer, kind: str
) -> None:
    listed, queried = required.get(LISTING), required.query()
    file = _file_url(queried)
    served = [listed, queried, required.get(file)]
    assert [response.status_code for response in served] == [200, 200, 200]
    address = required.gateway.address
    with _outage(postgres, kind), ThreadPoolExecutor() as threads:
        # At the same time: each waits for as long as a response of the database may take.
        refused = [threads.submit(required.get, url) for url in (LISTING, file)]
        refused.append(threads.submit(required.query))
        iceberg = threads.submit(required.get, f"{address}/iceberg/v1/config?warehouse=lake")
        ready, live = (threads.submit(required.health, name) for name in ("readyz", "livez"))
        assert (live.result().status_code, ready.result().status_code) == (200, 503)
    assert ready.result().json() == _error(_NOT_READY)
    for response in (each.result() for each in refused):
        assert response.status_code == 503
        assert response.json() == _error(_REFUSED)
        assert response.headers["retry-after"] == "5"
        assert "delta-table-version" not in response.headers  # of the response that was prepared
    assert iceberg.result().json() == {
        "error": {"message": _REFUSED, "type": "ServiceUnavailableException", "code": 503}
    }
    required.recover()
    recorded = {record["request_id"] for record in required.records()}
    assert {response.headers["x-request-id"] for response in served} <= recorded
    required.gateway.command("audit", "verify")
    assert "Traceback" not in required.gateway.log


def _error(message: str) -> dict[str, str]:
    return {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": message}


@pytest.mark.parametrize(
    "kind",
    [
        "hangs",
        pytest.param(
            "stopped",
            marks=pytest.mark.night("test_a_required_log_refuses_until_the_database_is_back"),
        ),
    ],
)
def test_a_best_effort_log_lets_requests_pass_and_records_the_gap(
    best_effort: Audited, postgres: PostgresServer, kind: str
) -> None:
    file = _file_url(best_effort.query())
    gaps = _lost(best_effort.records())
    with _outage(postgres, kind):
        assert best_effort.query().status_code == 200
        best_effort.send_unknown(_UNKNOWN_COUNT)
        assert best_effort.get(file).content.startswith(b"PAR1")
        assert best_effort.health("readyz").status_code == 503
        assert best_effort.health("livez").status_code == 200
    best_effort.recover()
    end = time.monotonic() + _SECONDS
    while True:
        records = best_effort.records()
        kept = {record["request_id"] for record in records} & set(best_effort.answered)
        if len(kept) + _lost(records) == len(best_effort.answered):
            break
        assert time.monotonic() < end, (len(kept), _lost(records), len(best_effort.answered))
    assert _lost(records) > gaps
    best_effort.gateway.command("audit", "verify")
    assert "Traceback" not in best_effort.gateway.log


def _lost(records: list[dict[str, Any]]) -> int:
    gaps = [record["issued"] for record in records if record["action"] == "auditGap"]
    return sum(gap["records"] for gap in gaps)
