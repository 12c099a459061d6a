"""Any header, the capabilities and the credentials above all."""

from __future__ import annotations

from urllib.parse import urlsplit

import hypothesis.strategies as st
import pytest
from support.fuzz.fuzz_strategies import (
    HEADER_TEXT,
    HeaderPair,
    any_headers,
    capabilities,
    headers,
    mutated,
)
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Request

TABLE = "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}"
ADDRESSES = (
    *(("POST", f"{TABLE}/query"), ("GET", f"{TABLE}/metadata"), ("GET", f"{TABLE}/version")),
    *(("GET", TABLE), ("HEAD", TABLE), ("GET", f"{TABLE}/changes?startingVersion=0")),
    *(("GET", "/delta-sharing/shares"), ("GET", "/healthz")),
)
ELSEWHERE = (
    *(("GET", "/livez"), ("GET", "/readyz"), ("GET", "/delta-sharing/openapi.json")),
    *(("POST", "/oauth/token"), ("POST", "/iceberg/v1/oauth/tokens")),
    *(("GET", "/iceberg/v1/config?warehouse=sales"), ("HEAD", "/iceberg/v1/config"), ("GET", "/x")),
)


def test_headers(fuzzer: Fuzzer, places: list[dict[str, str]]) -> None:
    sent = st.tuples(
        st.sampled_from(ADDRESSES),
        st.sampled_from(places),
        st.one_of(capabilities().map(lambda pair: [pair]), headers()),
        st.sampled_from((b"", b"{}", b'{"maxFiles":1}', b'{"includeRefreshToken":true}')),
    )

    def act(
        each: tuple[tuple[str, str], dict[str, str], list[HeaderPair], bytes],
    ) -> None:
        (method, path), place, given, body = each
        fuzzer.ask(method, path.format(**place), given, body if method == "POST" else b"")

    fuzzer.run("headers", sent, act)


def test_any_header_at_any_address(
    fuzzer: Fuzzer, places: list[dict[str, str]], links: list[str]
) -> None:
    at_tables = st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(places)).map(
        lambda pair: (pair[0][0], pair[0][1].format(**pair[1]))
    )
    at_links = st.tuples(st.sampled_from(("GET", "HEAD")), st.sampled_from(links))
    sent = st.tuples(
        st.one_of(at_tables, at_links, st.sampled_from(ELSEWHERE)),
        any_headers(),
        st.sampled_from((b"", b"{}", b'{"maxFiles":1}', b"grant_type=client_credentials")),
        st.booleans(),
    )

    def act(each: tuple[tuple[str, str], list[HeaderPair], bytes, bool]) -> None:
        (method, target), given, body, known = each
        headers = [fuzzer.authorization, *given] if known else given
        fuzzer.send(Request(method, target, headers, body if method == "POST" else b""))

    fuzzer.run("any header", sent, act)


@pytest.fixture(scope="module")
def links(fuzzer: Fuzzer) -> list[str]:
    """Paths and query strings of a table's files."""
    query = "/delta-sharing/shares/sales/schemas/eu/tables/orders/query"
    lines = fuzzer.ask("POST", query, (), b"{}").lines
    urls = [urlsplit(line["file"]["url"]) for line in lines if "file" in line]
    return [f"{url.path}?{url.query}" for url in urls]


def test_credentials(fuzzer: Fuzzer) -> None:
    token = mutated([fuzzer.token]).filter(lambda text: text.strip() != fuzzer.token)
    scheme = st.sampled_from(("Bearer ", "bearer ", "Basic ", "Bearer", "", "Bearer  Bearer ", "\t"))
    value = st.one_of(st.tuples(scheme, token).map("".join), HEADER_TEXT)
    credentials = st.lists(value, max_size=2)

    def act(given: list[str]) -> None:
        latin = [text.encode("latin-1", "replace").decode("latin-1") for text in given]
        authorization = [("authorization", text) for text in latin]
        answer = fuzzer.send(Request("GET", "/delta-sharing/shares", authorization))
        assert answer.status == 401

    fuzzer.run("credentials", credentials, act)
