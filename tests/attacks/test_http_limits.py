"""Bytes and connections of unauthenticated clients: heads, trailers, slow clients, crowds."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import repeat

import httpx
import psutil
import pytest
from support.clients.bystander import watched
from support.clients.hostile import answered, connected, crowd, pour, status, still_open
from support.gateways.attacked import Attacked
from support.gateways.shared_lake import shared_lake

_HEAD = b"GET /livez HTTP/1.1\r\nhost: x\r\n"
_HALF = b"GET /delta-sharing/shares HTTP/1.1\r\nhost: x\r\nx-slow: "
_MB = 1_000_000
# What the interpreter takes and keeps for anything; the smallest of the attacks had 50 MB to give.
_ROOM = 24 * _MB


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A gateway that waits for slow clients a second, started with the usual limit of open files."""
    server = {"head_timeout": 1, "keep_alive_timeout": 1}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    folder = tmp_path_factory.mktemp("hasty")
    with shared_lake(folder, tables=4, settings={"server": server}) as lake:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield Attacked.over(lake)


def _small_headers() -> Iterable[bytes]:
    yield _HEAD
    yield from repeat(b"a: b\r\n" * 10_000, 50 * _MB // 60_000)


def _one_header() -> Iterable[bytes]:
    yield _HEAD + b"x: "
    yield from repeat(b"x" * _MB, 200)


def _one_target() -> Iterable[bytes]:
    yield b"GET /"
    yield from repeat(b"x" * _MB, 200)


def _trailers(attacked: Attacked) -> Iterable[bytes]:
    yield _chunked(attacked) + b"2\r\n{}\r\n0\r\n"
    yield from repeat(b"a: b\r\n" * 10_000, 30 * _MB // 60_000)


def _one_trailer(attacked: Attacked) -> Iterable[bytes]:
    yield _chunked(attacked) + b"2\r\n{}\r\n0\r\nx: "
    yield from repeat(b"x" * _MB, 200)


def _chunk_extension(attacked: Attacked) -> Iterable[bytes]:
    yield _chunked(attacked) + b"2;"
    yield from repeat(b"x" * _MB, 200)


def _chunked(attacked: Attacked) -> bytes:
    return _query(attacked, b"transfer-encoding: chunked")


def _query(attacked: Attacked, header: bytes) -> bytes:
    token = attacked.attacker.headers["authorization"].encode()
    path = f"/delta-sharing{attacked.quiet.path()}/query".encode()
    head = b"POST %s HTTP/1.1\r\nhost: x\r\nauthorization: %s\r\n%s\r\n\r\n"
    return head % (path, token, header)


@pytest.mark.parametrize("parts", [_small_headers, _one_header, _one_target])
def test_a_head_is_refused_at_its_limit(attacked: Attacked, parts: object) -> None:
    assert callable(parts)
    with attacked.watched() as watch, connected(attacked.lake.gateway.address) as connection:
        answer = pour(connection, parts())
    watch.check(growth=_ROOM)
    assert status(answer) in (0, 431)  # none where TCP resets what was still being sent


@pytest.mark.parametrize("parts", [_trailers, _one_trailer, _chunk_extension])
def test_what_follows_a_body_is_refused_at_its_limit(attacked: Attacked, parts: object) -> None:
    assert callable(parts)
    with attacked.watched() as watch, connected(attacked.lake.gateway.address) as connection:
        answer = pour(connection, parts(attacked))
    watch.check(growth=_ROOM)
    assert status(answer) in (0, 431)


def test_a_head_that_is_a_little_too_long_gets_that_reason(attacked: Attacked) -> None:
    with connected(attacked.lake.gateway.address) as connection:
        answer = pour(connection, [_HEAD, b"x: %s\r\n\r\n" % (b"x" * 65_500)])
    assert status(answer) == 431
    assert b"REQUEST_TOO_LARGE" in answer
    assert b"65536 bytes" in answer


def test_a_long_head_within_the_limit_is_served(attacked: Attacked) -> None:
    with connected(attacked.lake.gateway.address) as connection:
        answer = pour(connection, [_HEAD, b"connection: close\r\nx: %s\r\n\r\n" % (b"x" * 65_000)])
    assert status(answer) == 200


def test_trailers_are_no_headers(attacked: Attacked) -> None:
    token = attacked.attacker.headers["authorization"].encode()
    request = b"POST /delta-sharing%s/query HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
    body = b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nauthorization: %s\r\n\r\n"
    with connected(attacked.lake.gateway.address) as connection:
        answer = pour(connection, [request % attacked.quiet.path().encode() + body % token])
    assert status(answer) == 401


def test_a_head_that_does_not_end_is_answered_in_time(hasty: Attacked) -> None:
    with connected(hasty.lake.gateway.address) as connection:
        answer = pour(connection, [_HALF])
    assert status(answer) == 408
    assert b"REQUEST_TIMEOUT" in answer


def test_line_breaks_do_not_keep_a_connection_open(hasty: Attacked) -> None:
    with connected(hasty.lake.gateway.address) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
        first = b""
        while not first.endswith(b'{"status":"ok"}'):  # head and body may come apart
            first += (received := connection.recv(1_000))
            assert received
        assert status(first) == 200
        answer = pour(connection, _slowly(b"\r\n"))
    assert answer == b""


def test_a_body_that_is_too_slow_is_answered(hasty: Attacked) -> None:
    with connected(hasty.lake.gateway.address) as connection:
        connection.sendall(_query(hasty, b"content-length: 100000"))
        answer = pour(connection, _slowly(b" "))
    assert status(answer) == 408
    assert b"1000 bytes per second" in answer


def test_a_body_that_nobody_wants_is_not_awaited(hasty: Attacked) -> None:
    refused = b"POST /oauth/nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n"
    with connected(hasty.lake.gateway.address) as connection:
        connection.sendall(refused)
        answer = pour(connection, [])
    assert status(answer) == 404


def _slowly(part: bytes) -> Iterator[bytes]:
    for _ in range(400):
        yield part
        time.sleep(0.05)


@pytest.mark.parametrize("sources", [0, 20])
def test_half_sent_requests_are_ended_and_keep_nobody_out(hasty: Attacked, sources: int) -> None:
    address = hasty.lake.gateway.address
    with hasty.watched() as watch, crowd(address, 6_000, _HALF, sources) as connections:
        while still_open(connections):
            time.sleep(0.1)
    watch.check(growth=100 * _MB)


@pytest.mark.parametrize("sources", [0, 1])
def test_silent_connections_keep_nobody_out(attacked: Attacked, sources: int) -> None:
    address = attacked.lake.gateway.address
    with attacked.watched() as watch, crowd(address, 1_200, b"", sources) as connections:
        while still_open(connections) > (500 if sources else 1_200):
            time.sleep(0.1)
        remaining = still_open(connections)
    watch.check(growth=_ROOM)
    assert remaining == (500 if sources else 1_200)


def test_more_connections_than_descriptors_do_not_occupy_the_gateway(hasty: Attacked) -> None:
    gateway = hasty.lake.gateway
    process = psutil.Process(gateway.process.pid)
    before = process.rlimit(psutil.RLIMIT_NOFILE)
    with httpx.Client() as client:
        alive = client.build_request("GET", f"{gateway.address}/livez")
        client.send(alive)
        with watched(process.pid, client, [alive]) as watch:
            process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds() + 50, before[1]))
            with crowd(gateway.address, 300, _HALF, sources=1):
                busy = process.cpu_percent(interval=1)
            process.rlimit(psutil.RLIMIT_NOFILE, before)
    watch.check(growth=_ROOM)
    assert busy < 70


def test_connections_leave_descriptors_for_the_rest() -> None:
    limited = (
        "import logging, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 900)); "
        "logging.basicConfig(); from sluicegate.http.limits import *; "
        "print(connections_within_files(HttpLimits()).max_connections, "
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["644", "900"]
    assert "LimitNOFILE" in done.stderr


def test_an_address_with_too_many_connections_gets_that_reason(attacked: Attacked) -> None:
    address = attacked.lake.gateway.address
    with crowd(address, 500, b""), connected(address, "127.0.1.1") as connection:
        answer = answered(connection)
    assert status(answer) == 429
    assert b"retry-after: 5" in answer
