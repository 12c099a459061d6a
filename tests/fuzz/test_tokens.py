"""Tokens of pages, refreshes and queries: what was changed is refused, wherever it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import orjson
import pytest
from support.fuzz.fuzz_strategies import mutated
from support.fuzz.fuzzing import Fuzzer
from support.fuzz.iceberg_places import decoded_token
from support.gateways.in_process import in_process_gateway

from sluicegate.config import Settings
from sluicegate.protocols.delta_sharing import assembly

SHARE = "/delta-sharing/shares/sales"
TABLE = f"{SHARE}/schemas/eu/tables/orders"
LISTINGS = ("/delta-sharing/shares", f"{SHARE}/schemas", f"{SHARE}/all-tables")
ASYNC = ("delta-sharing-capabilities", "asyncquery=true")


@pytest.fixture(scope="module")
def genuine(fuzzer: Fuzzer, configured: Settings) -> list[str]:
    """Every kind of token that the gateway gives."""
    return [*_listing_tokens(fuzzer), *_query_tokens(fuzzer), *_query_ids(fuzzer, configured)]


def test_changed_tokens_are_refused(fuzzer: Fuzzer, genuine: list[str]) -> None:
    known = {decoded_token(token) for token in genuine}

    def act(token: str) -> None:
        statuses = [
            *(fuzzer.ask("GET", f"{path}?pageToken={quote(token)}").status for path in LISTINGS),
            *(
                fuzzer.ask("POST", f"{TABLE}/query", (), orjson.dumps({key: token})).status
                for key in ("pageToken", "refreshToken")
            ),
            fuzzer.ask("POST", f"{TABLE}/queries/{quote(token, safe='')}").status,
        ]
        if token and decoded_token(token) not in known:
            assert set(statuses) <= {400, 404}

    fuzzer.run("tokens", mutated(genuine), act)


def _listing_tokens(fuzzer: Fuzzer) -> Iterator[str]:
    for listing in LISTINGS:
        for size in (0, 1):
            yield fuzzer.ask("GET", f"{listing}?maxResults={size}").json["nextPageToken"]


def _query_tokens(fuzzer: Fuzzer) -> Iterator[str]:
    for asked, key in (
        ({"maxFiles": 1}, "nextPageToken"),
        ({"includeRefreshToken": True}, "refreshToken"),
    ):
        answer = fuzzer.ask("POST", f"{TABLE}/query", (), orjson.dumps(asked))
        yield answer.lines[-1]["endStreamAction"][key]


def _query_ids(fuzzer: Fuzzer, configured: Settings) -> Iterator[str]:
    """Of a gateway with the same keys that waits for nothing, so every query is answered later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "ASYNC_QUERY_THRESHOLD", 0)
        with in_process_gateway(configured) as impatient:
            asking = Fuzzer(impatient, fuzzer.token, fuzzer.secrets)
            body = b'{"idempotencyKey":"k"}'
            answer = asking.ask("POST", f"{TABLE}/query", [ASYNC], body)
            yield answer.lines[0]["queryStatus"]["queryId"]
