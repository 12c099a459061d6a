"""Any header, the capabilities and the credentials above all."""

from __future__ import annotations

import hypothesis.strategies as st
from support.fuzz_strategies import HEADER_TEXT, HeaderPair, capabilities, headers, mutated
from support.fuzzing import Fuzzer
from support.in_process import Request

TABLE = "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}"
ADDRESSES = (
    *(("POST", f"{TABLE}/query"), ("GET", f"{TABLE}/metadata"), ("GET", f"{TABLE}/version")),
    *(("GET", TABLE), ("HEAD", TABLE), ("GET", f"{TABLE}/changes?startingVersion=0")),
    *(("GET", "/delta-sharing/shares"), ("GET", "/healthz")),
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
