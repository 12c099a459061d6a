"""A recipient of a part of a table obtains no file outside of it, whatever it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.process.random_cases import cases

TABLES = {"part": "DE", "mine": "FR"}
SCHEMA = "/shares/sales/schemas/eu/tables"
FORMATS = st.sampled_from(["parquet", "delta", "delta,parquet"])
MOMENTS = st.sampled_from(["2000-01-01T00:00:00Z", "2200-01-01T00:00:00Z"])
VERSIONS = st.integers(0, 4)
SQL = st.sampled_from(["country = 'FR'", "country <> 'DE'", "id >= 0", "country IS NULL", "nonsense"])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "version": VERSIONS,
        "timestamp": MOMENTS,
        "startingVersion": VERSIONS,
        "endingVersion": VERSIONS,
        "limitHint": st.integers(0, 10),
        "predicateHints": st.lists(SQL, max_size=2),
        "maxFiles": st.integers(1, 3),
        "includeRefreshToken": st.booleans(),
    },
)
CHANGES = st.fixed_dictionaries(
    {"startingVersion": VERSIONS},
    optional={
        "endingVersion": VERSIONS,
        "endingTimestamp": MOMENTS,
        "includeHistoricalMetadata": st.booleans(),
        "maxFiles": st.integers(1, 3),
    },
)
PROPERTY = settings(
    max_examples=cases(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def answers(client: httpx.Client, table: str, body: dict[str, Any], capable: str) -> Iterator[str]:
    """The answer to a query with all of its pages, and its refresh."""
    headers = {"delta-sharing-capabilities": f"responseformat={capable}"}
    path = f"{SCHEMA}/{table}/query"
    refreshed = False
    for _ in range(40):
        answer = client.post(path, json=body, headers=headers)
        if answer.status_code != 200:
            assert answer.status_code == 400, answer.text
            return
        yield answer.text
        end = json.loads(answer.text.splitlines()[-1]).get("endStreamAction", {})
        if "nextPageToken" in end:
            body = {**body, "pageToken": end["nextPageToken"]}
            body.pop("includeRefreshToken", None)
        elif "refreshToken" in end and not refreshed:
            body = {**body, "refreshToken": end["refreshToken"]}
            refreshed = True
        else:
            return


def check(text: str, country: str) -> None:
    """No file of another country is named, signed or described."""
    for line in text.splitlines()[2:]:
        if "endStreamAction" in line or '{"metaData"' in line:
            continue
        assert f'"partitionValues":{{"country":"{country}"}}' in line
        assert f"country={country}/" in line
    other = "FR" if country == "DE" else "DE"
    assert f"country={other}/" not in text
    assert f'"country":"{other}"' not in text


@PROPERTY
@given(table=st.sampled_from(sorted(TABLES)), body=BODIES, capable=FORMATS)
def test_queries(client: httpx.Client, table: str, body: dict[str, Any], capable: str) -> None:
    for text in answers(client, table, body, capable):
        check(text, TABLES[table])


@PROPERTY
@given(query=CHANGES, capable=FORMATS)
def test_changes(client: httpx.Client, query: dict[str, Any], capable: str) -> None:
    headers = {"delta-sharing-capabilities": f"responseformat={capable}"}
    for _ in range(40):
        answer = client.get(f"{SCHEMA}/part/changes", params=query, headers=headers)
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            return
        check(answer.text, TABLES["part"])
        end = json.loads(answer.text.splitlines()[-1]).get("endStreamAction", {})
        if "nextPageToken" not in end:
            return
        query = {**query, "pageToken": end["nextPageToken"]}


@pytest.mark.parametrize("kind", ["pageToken", "refreshToken"])
def test_tokens_of_the_whole_table_open_nothing(client: httpx.Client, kind: str) -> None:
    body = {"maxFiles": 1, "includeRefreshToken": True}
    whole = client.post(f"{SCHEMA}/orders/query", json=body).text.splitlines()
    end = json.loads(whole[-1])["endStreamAction"]
    token = end["nextPageToken" if kind == "pageToken" else "refreshToken"]
    answer = client.post(f"{SCHEMA}/part/query", json={kind: token})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_PARAMETER_VALUE")


def test_what_is_shared_does_arrive(client: httpx.Client) -> None:
    for table in TABLES:
        whole = "".join(answers(client, table, {"maxFiles": 3}, "parquet"))
        assert whole.count('{"file":') == 4
    feed = client.get(f"{SCHEMA}/part/changes", params={"startingVersion": 0})
    assert feed.text.count('{"add":') == 4
