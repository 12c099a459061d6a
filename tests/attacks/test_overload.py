"""More requests at once than a gateway serves: each is answered honestly, and others are served."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import httpx
import orjson
import pytest
from support.clients.hostile import answered, at_once, connected, pour, status
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import RIVAL, shared_lake
from support.tables.deltalog import add, metadata, protocol

_MB = 1_000_000


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A gateway with low limits and short timeouts."""
    server = {
        "max_requests": 2,
        "max_requests_per_recipient": 1,
        "max_requests_per_address": 2,
        "queue_timeout": 0,
        "send_timeout": 1,
        "forwarded_allow_ips": ["127.0.0.1"],
    }
    folder = tmp_path_factory.mktemp("narrow")
    with shared_lake(folder, tables=4, settings={"server": server}) as lake:
        yield Attacked.over(lake)


def _request(attacked: Attacked, line: str, *headers: str, body: str = "") -> bytes:
    token = attacked.attacker.headers["authorization"]
    fixed = ("host: x", "connection: close", f"content-length: {len(body)}")
    head = "\r\n".join((f"{line} HTTP/1.1", *fixed, f"authorization: {token}", *headers))
    return f"{head}\r\n\r\n{body}".encode()


def _query(attacked: Attacked) -> bytes:
    """A query by way of a proxy, whose other clients have other addresses."""
    line = f"POST /delta-sharing{attacked.quiet.path()}/query"
    return _request(attacked, line, "x-forwarded-for: 192.0.2.9", body="{}")


def test_a_recipient_with_3000_requests_at_once_keeps_nobody_else_waiting(attacked: Attacked) -> None:
    gateway = attacked.lake.gateway
    with attacked.watched() as watch:
        answers = [
            answer
            for _ in range(2)  # one process can hold no more than 2,000 connections by default
            for answer in at_once(gateway.address, [_query(attacked)] * 1_500)
        ]
    counted = Counter(map(status, answers))
    watch.check(growth=150 * _MB)
    assert counted.keys() <= {200, 429}
    assert counted[200] >= 200
    refused = [answer for answer in answers if status(answer) == 429]
    assert all(b"retry-after: 5" in answer for answer in refused)
    assert any(b"this recipient has 100 concurrent requests" in answer for answer in refused)
    assert "database does not" not in gateway.log


def test_more_connections_than_the_gateway_holds_get_that_reason(attacked: Attacked) -> None:
    with attacked.watched() as watch:
        answers = at_once(attacked.lake.gateway.address, [_query(attacked)] * 3_000)
    watch.check(growth=150 * _MB)
    counted = Counter(map(status, answers))
    assert counted.keys() <= {0, 200, 429, 503}  # none where the refusal was lost on the way
    assert counted[200] >= 100
    assert not any(b"database" in answer for answer in answers)


def test_a_slow_reader_holds_only_its_own_places(narrow: Attacked) -> None:
    with connected(narrow.lake.gateway.address, "127.0.0.1") as slow:
        # Its body does not come, so its place as a recipient is taken.
        request = _query(narrow).replace(b"content-length: 2", b"content-length: 3")
        slow.sendall(request)
        refused = narrow.attacker.get("/shares")
        while "this recipient has 1" not in refused.text:  # the other one is not authenticated yet
            refused = narrow.attacker.get("/shares")
        served = narrow.lake.client(RIVAL).get("/shares")
        slow.sendall(b" ")
        assert status(slow.recv(1_000)) == 200
    assert (refused.status_code, refused.json()["errorCode"]) == (429, "RESOURCE_EXHAUSTED")
    assert refused.headers["retry-after"] == "5"
    assert served.status_code == 200


def test_a_client_that_reads_nothing_loses_its_places(narrow: Attacked) -> None:
    table, size = narrow.lake.table(), 64 * _MB  # more than the buffers of two sockets hold
    table.folder.commit(0, protocol(), metadata(), add("a.parquet"))
    with (table.root / "a.parquet").open("wb") as file:
        file.truncate(size)
    lines = narrow.attacker.post(f"{table.path()}/query", json={}).text.splitlines()
    url = httpx.URL(orjson.loads(lines[2])["file"]["url"])
    request = _request(narrow, f"GET {url.raw_path.decode()}", "x-forwarded-for: 192.0.2.10")
    address = narrow.lake.gateway.address
    with connected(address, "127.0.0.1") as silent, connected(address, "127.0.0.1") as silent_too:
        for each in (silent, silent_too):
            each.sendall(request)
            assert status(each.recv(100)) == 200
        for _ in range(600):  # fails after a minute
            with connected(address, "127.0.0.1") as another:
                another.sendall(request)
                served = status(another.recv(100))
            if served == 200:
                break
            time.sleep(0.1)
        assert served == 200
        assert all(len(answered(each)) < size // 2 for each in (silent, silent_too))


def test_requests_without_a_recipient_are_bounded_by_their_address(narrow: Attacked) -> None:
    address = narrow.lake.gateway.address
    form = (
        "POST /oauth/token HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.7\r\ncontent-length: 9\r\n"
    )
    with connected(address, "127.0.0.1") as slow, connected(address, "127.0.0.1") as slow_too:
        for each in (slow, slow_too):
            each.sendall(f"{form}content-type: application/x-www-form-urlencoded\r\n\r\n".encode())
        for line, says in (
            ("GET /delta-sharing/shares", b'"errorCode":"RESOURCE_EXHAUSTED"'),
            ("GET /iceberg/v1/config", b'"type":"SlowDownException"'),
            ("POST /oauth/token", b'"error":"slow_down"'),
        ):
            request = _request(narrow, line, "x-forwarded-for: 192.0.2.7")
            with connected(address, "127.0.0.1") as another:
                answer = pour(another, [request])
            assert status(answer) == 429
            assert says in answer
        elsewhere = _request(narrow, "GET /delta-sharing/shares", "x-forwarded-for: 192.0.2.8")
        with connected(address, "127.0.0.1") as another:
            assert status(pour(another, [elsewhere])) == 200
        with connected(address, "127.0.0.1") as another:
            health = _request(narrow, "GET /readyz", "x-forwarded-for: 192.0.2.7")
            assert status(pour(another, [health])) == 200
