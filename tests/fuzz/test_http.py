"""Broken HTTP over real connections: it is refused, and the gateway goes on serving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings
from support.gateways.gateway import RunningGateway, running_gateway
from support.servers.raw_http import RawAnswer, send_raw

REQUESTS = 600
QUERY = "/delta-sharing/shares/sales/schemas/eu/tables/orders/query"
LINES = (
    *(b"GET /healthz HTTP/1.1", b"GET /delta-sharing/shares HTTP/1.1", b"GET / HTTP/1.0"),
    *(f"POST {QUERY} HTTP/1.1".encode(), b"GET  /healthz  HTTP/1.1", b"GET /healthz", b"GET"),
    *(b"GET /healthz HTTP/9.9", b"GET /healthz HTTP/2.0", b"PRI * HTTP/2.0", b"OPTIONS * HTTP/1.1"),
    *(b"CONNECT localhost:1 HTTP/1.1", b"GET http://other/healthz HTTP/1.1", b"FROBNICATE / HTTP/1.1"),
    *(b"GET /\xff\xfe HTTP/1.1", b"GET /%ff%00 HTTP/1.1", b"GET /\x00 HTTP/1.1"),
    *(b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b""),
)
HEADERS = (
    *(b"Host: x", b"Host: x\r\nHost: y", b"Connection: close", b"Content-Type: application/json"),
    *(b"Connection: upgrade\r\nUpgrade: websocket", b"Expect: 100-continue", b"Expect: tea"),
    *(b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999"),
    *(b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip"),
    *(b"Transfer-Encoding: chunked, chunked", b"No colon", b": empty", b"Na me: x"),
    *(b"X: \x00", b"X: \xff", b"X: a\r\n folded", b"X" * 70_000 + b": 1", b"X: " + b"1" * 70_000),
    *(b"Authorization: Bearer \xff", b"X-Forwarded-For: nobody", b"X-Request-Id: \x7f"),
    *(b"X-Forwarded-For: 1.2.3.4, \xff, [::1]:x", b"X-Forwarded-For:", b"X-Forwarded-Proto: ftp"),
    *(b"X-Forwarded-Proto: \xff", b"Host: [::1", b"Host: \xff", b"Accept-Encoding: gzip;q=\xff"),
)
BODIES = (
    *(b"", b"{}", b"hello", b"0\r\n\r\n", b"5\r\n{}\r\n0\r\n\r\n", b"zz\r\n", b"-1\r\n", b"\x00" * 100),
    *(b"ffffffffffffffff\r\n", b"2\r\n{}\r\n0\r\nX: y\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n"),
    *(b"2;ext=" + b"x" * 9_000 + b"\r\n{}\r\n0\r\n\r\n", b"{" * 9_000),
)
HOSTS = (b"\r\nHost: x", b"\r\nHost: x", b"\r\nHost: x", b"")  # without one, nothing else is examined
ENDS = (b"\r\n\r\n", b"\r\n\r\n", b"\n\n", b"\r\n", b"\r", b"")


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[RunningGateway]:
    with running_gateway(folder) as running:
        yield running


def test_broken_requests_are_refused_and_the_gateway_goes_on(
    gateway: RunningGateway, token: str
) -> None:
    answered = []
    authorized = f"Authorization: Bearer {token}".encode()
    headers = st.lists(st.sampled_from((*HEADERS, authorized)), max_size=4).map(b"\r\n".join)
    lines = st.tuples(st.sampled_from(LINES), st.sampled_from(HOSTS)).map(b"".join)
    formed = st.tuples(lines, headers, st.sampled_from(ENDS), st.sampled_from(BODIES)).map(
        lambda parts: (parts[0] + b"\r\n" + parts[1] + parts[2], parts[3])
    )
    noise = st.tuples(st.binary(max_size=200), st.binary(max_size=20))

    @settings(
        max_examples=REQUESTS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(formed, formed, formed, noise))
    def each(parts: tuple[bytes, bytes]) -> None:
        note(repr(parts)[:2_000])
        answers = send_raw(gateway.address, *parts)
        answered.append(bool(answers))
        for answer in answers:
            judge(answer)

    each()
    assert len(answered) >= REQUESTS
    assert sum(answered) > REQUESTS / 4
    assert httpx.get(f"{gateway.address}/healthz").json() == {"status": "ok"}
    assert "Traceback" not in gateway.log
    assert token not in gateway.log


def judge(answer: RawAnswer) -> None:
    assert answer.status < 500
    assert answer.status < 400 or answer.is_error
