"""Any form and credentials at the token endpoint: only the real client gets a token."""

from __future__ import annotations

import base64
from urllib.parse import quote_plus

import hypothesis.strategies as st
from support.fuzz import fuzz_values as values
from support.fuzz.fuzz_strategies import HEADER_TEXT, HeaderPair, mutated
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Request

FORM = ("content-type", "application/x-www-form-urlencoded")
FIELDS = ("grant_type", "scope", "client_id", "client_secret", "assertion", "")


def test_token_requests(fuzzer: Fuzzer, oauth_client: tuple[str, str]) -> None:
    guesses = mutated(oauth_client)
    value = st.one_of(
        guesses,
        st.sampled_from(("client_credentials", "password", "delta-sharing", "*")),
        st.sampled_from(values.LITERALS),
    )
    field = st.tuples(st.sampled_from(FIELDS), value).map(lambda pair: "=".join(map(_quoted, pair)))
    form = st.lists(field, max_size=4).map(lambda fields: "&".join(fields).encode())
    grant = st.just(b"grant_type=client_credentials")
    body = st.one_of(grant, grant, form, st.binary(max_size=60))
    headers = st.tuples(
        st.sampled_from((FORM, FORM, FORM, ("content-type", "application/json"))),
        st.one_of(st.tuples(guesses, guesses).map(_basic), HEADER_TEXT.map(_authorization)),
    )

    def act(sent: tuple[tuple[HeaderPair, HeaderPair], bytes]) -> None:
        given, content = sent
        answer = fuzzer.send(Request("POST", "/oauth/token", given, content))
        genuine = given[1] == _basic(oauth_client) and content == b"grant_type=client_credentials"
        assert (answer.status == 200) is (genuine and given[0] == FORM)

    fuzzer.run("oauth", st.tuples(headers, body), act)


def _basic(pair: tuple[str, str]) -> HeaderPair:
    encoded = base64.b64encode(":".join(map(_quoted, pair)).encode()).decode()
    return _authorization(f"Basic {encoded}")


def _authorization(value: str) -> HeaderPair:
    return ("authorization", value)


def _quoted(text: str) -> str:
    return quote_plus(text)
