"""Any body, sent to any table, also by a client that goes away in its middle."""

from __future__ import annotations

import re
from typing import Any

import hypothesis.strategies as st
import orjson
import pytest
from support.fuzz.fuzz_strategies import (
    FULL_DELTA,
    bodies,
    capabilities,
    conditions,
    headers,
    predicates,
)
from support.fuzz.fuzzing import Fuzzer

pytestmark = pytest.mark.slow

JSON = ("content-type", "application/json")
REMEMBERED = re.compile(rb" \(cached; the next attempt is in \d+ s\)")
Place = dict[str, str]


def address(place: Place, last: str = "query") -> str:
    return "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}/".format(**place) + last


def test_bodies(fuzzer: Fuzzer, places: list[Place]) -> None:
    sent = st.tuples(
        st.sampled_from(places),
        st.sampled_from((*("query",) * 6, "queries/AAAA", "metadata")),
        st.one_of(capabilities().map(lambda pair: [pair]), headers()),
        bodies(),
        st.sampled_from((False,) * 9 + (True,)),
    )
    fuzzer.run(
        "bodies",
        sent,
        lambda each: fuzzer.ask(
            "POST", address(each[0], each[1]), [JSON, *each[2]], each[3], leaves=each[4]
        ),
    )


def head(body: bytes) -> list[bytes]:
    """The first two lines; an error that is remembered says in addition when it is tried again."""
    return REMEMBERED.sub(b"", body).splitlines()[:2]


def test_predicates_are_never_an_error_of_their_own(fuzzer: Fuzzer, places: list[Place]) -> None:
    hints = st.fixed_dictionaries(
        {}, optional={"jsonPredicateHints": predicates(), "predicateHints": conditions()}
    )

    def act(sent: tuple[Place, dict[str, Any]]) -> None:
        place, body = sent
        answer = fuzzer.ask("POST", address(place), [FULL_DELTA], orjson.dumps(body))
        plain = fuzzer.ask("POST", address(place), [FULL_DELTA], b"{}")
        assert answer.status == plain.status
        assert head(answer.body) == head(plain.body)

    fuzzer.run("predicates", st.tuples(st.sampled_from(places), hints), act)
