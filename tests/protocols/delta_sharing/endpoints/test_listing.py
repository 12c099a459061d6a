"""Delta Sharing protocol, "List Shares" to "List all Tables in a Share"."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

TABLES = [
    "corrupt",
    "directory",
    "future",
    "gone",
    "mapped",
    "mine",
    "misfiltered",
    "moving",
    "nowhere",
    "Orders",
    "part",
    "plain",
    "recent",
    "vectors",
]


def items(client: httpx.Client, path: str, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    listed: list[dict[str, Any]] = answer.json()["items"]
    return listed


def test_only_granted_shares_are_listed(client: httpx.Client) -> None:
    [share] = items(client, "/shares")
    assert share.pop("id")
    assert share == {"name": "sales", "comment": "Sales"}


@pytest.mark.parametrize("name", ["sales", "SALES", "Sales"])
def test_a_share_is_found_in_any_case(client: httpx.Client, name: str) -> None:
    assert client.get(f"/shares/{name}").json() == {"share": items(client, "/shares")[0]}


def test_schemas(client: httpx.Client) -> None:
    schemas = items(client, "/shares/sales/schemas")
    assert [(schema["name"], schema["share"]) for schema in schemas] == [
        ("EU", "sales"),
        ("us", "sales"),
    ]


def test_tables_keep_their_spelling_and_are_sorted_without_case(client: httpx.Client) -> None:
    tables = items(client, "/shares/sales/schemas/eu/tables")
    assert [table["name"] for table in tables] == TABLES
    share = items(client, "/shares")[0]
    for table in tables:
        assert table.keys() == {"name", "schema", "share", "shareId", "id"}
        assert (table["schema"], table["share"], table["shareId"]) == ("EU", "sales", share["id"])
    assert len({table["id"] for table in tables}) == len(tables)


def test_an_empty_schema_has_no_tables(client: httpx.Client) -> None:
    assert items(client, "/shares/sales/schemas/us/tables") == []


def test_all_tables_are_those_of_the_schemas(client: httpx.Client) -> None:
    assert items(client, "/shares/sales/all-tables") == items(client, "/shares/sales/schemas/eu/tables")


@pytest.mark.parametrize(
    "path",
    ["/shares", "/shares/sales/schemas", "/shares/sales/schemas/eu/tables", "/shares/sales/all-tables"],
)
@pytest.mark.parametrize("size", [1, 3, 500])
def test_pages_together_are_the_whole_listing(client: httpx.Client, path: str, size: int) -> None:
    whole, pages, token = items(client, path), [], ""
    while True:
        parameters: dict[str, Any] = {"maxResults": size, **({"pageToken": token} if token else {})}
        answer = client.get(path, params=parameters).json()
        assert len(answer["items"]) <= size
        pages += answer["items"]
        token = answer.get("nextPageToken", "")
        if not token:
            break
    assert pages == whole


def test_no_results_still_give_a_token_to_go_on(client: httpx.Client) -> None:
    answer = client.get("/shares", params={"maxResults": 0}).json()
    assert answer["items"] == []
    assert items(client, "/shares", pageToken=answer["nextPageToken"]) == items(client, "/shares")


def test_a_table_has_its_format(client: httpx.Client) -> None:
    listed = next(t for t in items(client, "/shares/sales/all-tables") if t["name"] == "Orders")
    answer = client.get("/shares/sales/schemas/eu/tables/ORDERS").json()
    assert answer == {**listed, "format": "delta"}


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_health_needs_no_token(client: httpx.Client, path: str) -> None:
    answer = httpx.get(str(client.base_url).replace("/delta-sharing/", path))
    assert answer.json() == {"status": "ok"}
