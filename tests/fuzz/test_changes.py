"""Any range of versions and times, as a feed and as a stream, page by page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import hypothesis.strategies as st
import orjson
from support.fuzz import fuzz_values as values
from support.fuzz.fuzz_strategies import FULL_DELTA, HeaderPair, capabilities
from support.fuzz.fuzzing import Fuzzer
from support.gateways.in_process import Answer

TABLE = "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}/"
PAGES = 5


def test_ranges_of_versions(fuzzer: Fuzzer, places: list[dict[str, str]]) -> None:
    with_feed = [place for place in places if place["table"] == "feed"]
    version = st.one_of(st.integers(0, 12), st.integers(0, 12), st.sampled_from(values.INTEGERS))
    moment = st.one_of(st.sampled_from(values.TIMESTAMPS), st.just("2026-01-01T00:00:00Z"))
    flag = st.sampled_from((True, False, "True", "maybe"))
    asked = st.fixed_dictionaries(
        {"startingVersion": version},
        optional={
            "endingVersion": version,
            "startingTimestamp": moment,
            "endingTimestamp": moment,
            "includeHistoricalMetadata": flag,
            "includeHistoricalProtocol": flag,
            "maxFiles": st.sampled_from((1, 2, 3, 0, 2**31 - 1)),
        },
    )
    place = st.one_of(st.sampled_from(with_feed), st.sampled_from(places))
    form = st.one_of(st.just(FULL_DELTA), capabilities())
    way = st.sampled_from((feed, stream))

    def act(sent: tuple[Any, dict[str, str], HeaderPair, dict[str, Any]]) -> None:
        ask, where, header, parameters = sent
        for _ in range(PAGES):
            answer = ask(fuzzer, TABLE.format(**where), header, parameters)
            token = _next_page(answer)
            if token is None:
                return
            parameters = {**parameters, "pageToken": token}

    fuzzer.run("changes", st.tuples(way, place, form, asked), act)


def feed(fuzzer: Fuzzer, table: str, form: HeaderPair, asked: dict[str, Any]) -> Answer:
    return fuzzer.ask("GET", f"{table}changes?{urlencode(asked)}", [form])


def stream(fuzzer: Fuzzer, table: str, form: HeaderPair, asked: dict[str, Any]) -> Answer:
    return fuzzer.ask("POST", f"{table}query", [form], orjson.dumps(_as_json(asked)))


def _as_json(asked: dict[str, Any]) -> dict[str, Any]:
    largest = 2**63 - 1
    return {
        key: str(value) if isinstance(value, int) and abs(value) > largest else value
        for key, value in asked.items()
    }


def _next_page(answer: Answer) -> str | None:
    if answer.status != 200:
        return None
    token: str | None = answer.lines[-1].get("endStreamAction", {}).get("nextPageToken")
    return token
