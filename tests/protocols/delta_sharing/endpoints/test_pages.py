"""Pages, refreshes and the last line of an answer (docs/interop.md; "EndStreamAction")."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway

ORDERS = "/shares/sales/schemas/eu/tables/orders"
END = {"delta-sharing-capabilities": "includeendstreamaction=true"}


def ask(client: httpx.Client, body: dict[str, Any], table: str = "orders", **headers: str) -> list[str]:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    answer = client.post(ORDERS.replace("orders", table) + "/query", json=body, headers=named)
    assert answer.status_code == 200, answer.text
    return answer.text.splitlines()


def end(lines: list[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(lines[-1])["endStreamAction"]
    return value


def files(lines: list[str]) -> list[str]:
    """Ids of the files in an answer that ends with an `endStreamAction`, or without."""
    values = [json.loads(line) for line in lines[2:]]
    return [value["file"]["id"] for value in values if "file" in value]


def pages(client: httpx.Client, body: dict[str, Any], table: str = "orders") -> list[list[str]]:
    found = [ask(client, body, table)]
    while token := end(found[-1]).get("nextPageToken"):
        found.append(ask(client, {**body, "pageToken": token}, table))
    return found


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 1000])
@pytest.mark.parametrize("body", [{}, {"version": 2}])
def test_pages_hold_each_file_once(client: httpx.Client, size: int, body: dict[str, Any]) -> None:
    whole = files(ask(client, body))
    found = pages(client, {**body, "maxFiles": size})
    assert sorted(id for page in found for id in files(page)) == sorted(whole)
    assert all(len(files(page)) <= size for page in found)
    assert len(found) == -(-len(whole) // size)


def test_pages_repeat_the_same_protocol_and_metadata_bytes(client: httpx.Client) -> None:
    found = pages(client, {"maxFiles": 3})
    assert len({tuple(page[:2]) for page in found}) == 1
    assert len(found) == 3


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (4, 4), (5, 5), (100, 8)])
def test_a_limit_holds_over_all_pages(client: httpx.Client, limit: int, count: int) -> None:
    found = pages(client, {"maxFiles": 2, "limitHint": limit})
    assert sum(len(files(page)) for page in found) == count


def test_pages_of_a_filtered_table_stay_inside_the_filter(client: httpx.Client) -> None:
    found = pages(client, {"maxFiles": 1}, "part")
    values = [json.loads(line)["file"] for page in found for line in page[2:-1]]
    assert [value["partitionValues"] for value in values] == [{"country": "DE"}] * 4


def test_pages_and_refreshes_stay_on_their_version_while_the_table_moves_on(
    gateway: RunningGateway, client: httpx.Client
) -> None:
    first = ask(client, {"maxFiles": 2, "includeRefreshToken": True}, "moving")
    before = files(ask(client, {}, "moving"))
    write_deltalake(gateway.folder / "lake" / "moving", pa.table({"id": [99]}), mode="append")
    assert len(files(ask(client, {}, "moving"))) == len(before) + 1
    second = ask(client, {"maxFiles": 2, "pageToken": end(first)["nextPageToken"]}, "moving")
    assert first[:2] == second[:2]
    assert sorted(files(first) + files(second)) == sorted(before)
    refreshed = ask(
        client,
        {"refreshToken": end(first)["refreshToken"], "includeRefreshToken": True},
        "moving",
    )
    assert sorted(files(refreshed)) == sorted(before)
    assert end(refreshed)["refreshToken"]


def test_the_last_line_comes_only_on_request(client: httpx.Client) -> None:
    assert "endStreamAction" not in ask(client, {})[-1]
    lines = ask(client, {}, **END)
    expiries = [json.loads(line)["file"]["expirationTimestamp"] for line in lines[2:-1]]
    assert end(lines) == {"minUrlExpirationTimestamp": min(expiries)}


def test_metadata_has_two_lines_for_each_request(client: httpx.Client) -> None:
    answer = client.get(f"{ORDERS}/metadata", headers=END)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet"
    assert len(answer.text.splitlines()) == 2


@pytest.mark.parametrize(
    "changed",
    [{"limitHint": 5}, {"version": 1}, {"predicateHints": ["id = 1"]}, {"jsonPredicateHints": "{}"}],
    ids=str,
)
@pytest.mark.parametrize("kind", ["pageToken", "refreshToken"])
def test_a_token_belongs_to_its_request(
    client: httpx.Client, changed: dict[str, Any], kind: str
) -> None:
    ends = end(ask(client, {"maxFiles": 1, "includeRefreshToken": True}))
    token = ends["nextPageToken" if kind == "pageToken" else kind]
    answer = client.post(f"{ORDERS}/query", json={**changed, kind: token})
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == "INVALID_PARAMETER_VALUE"


@pytest.mark.parametrize("kind", ["pageToken", "refreshToken"])
def test_a_token_belongs_to_its_table_and_recipient(
    gateway: RunningGateway, client: httpx.Client, rival_token: str, kind: str
) -> None:
    ends = end(ask(client, {"maxFiles": 1, "includeRefreshToken": True}))
    body = {kind: ends["nextPageToken" if kind == "pageToken" else kind]}
    assert client.post(f"{ORDERS}/query", json=body).status_code == 200
    other_table = ORDERS.replace("orders", "plain")
    assert client.post(f"{other_table}/query", json=body).status_code == 400
    headers = {"Authorization": f"Bearer {rival_token}"}
    others = httpx.post(f"{gateway.endpoint}{ORDERS}/query", json=body, headers=headers)
    assert others.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"maxFiles": 0},
        {"maxFiles": -1},
        {"maxFiles": "x"},
        {"pageToken": "nonsense"},
        {"refreshToken": "nonsense"},
        {"includeRefreshToken": "maybe"},
        {"includeRefreshToken": True, "version": 1},
        {"refreshToken": "x", "version": 1},
        {"refreshToken": "x", "pageToken": "y"},
        {"includeRefreshToken": True, "pageToken": "y"},
    ],
    ids=str,
)
def test_wrong_paging(client: httpx.Client, body: dict[str, Any]) -> None:
    answer = client.post(f"{ORDERS}/query", json=body)
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == "INVALID_PARAMETER_VALUE"
