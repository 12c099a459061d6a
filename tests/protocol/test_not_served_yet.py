"""What the documents describe and the gateway does not serve yet is refused clearly, never promised."""

from __future__ import annotations

import json

import httpx
import pytest

TABLE = "/shares/sales/schemas/eu/tables/orders"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{TABLE}/temporary-table-credentials"),
        ("POST", f"{TABLE}/temporary-volume-credentials"),
        ("GET", "/shares/sales/all-volumes"),
        ("GET", "/shares/sales/schemas/eu/models"),
    ],
)
def test_other_ways_in_do_not_exist(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path, json={} if method == "POST" else None)
    assert answer.status_code == 404
    assert answer.json() == {
        "errorCode": "RESOURCE_DOES_NOT_EXIST",
        "message": "there is no such route",
    }


def test_there_is_no_iceberg_catalog(client: httpx.Client) -> None:
    address = str(client.base_url).replace("/delta-sharing/", "/iceberg/v1/config")
    answer = httpx.get(address, params={"warehouse": "sales"}, headers=client.headers)
    assert answer.status_code == 404
    assert answer.json()["errorCode"] == "RESOURCE_DOES_NOT_EXIST"


def test_nothing_promises_directory_access(client: httpx.Client) -> None:
    promised = {"accessModes", "location", "auxiliaryLocations"}  # without them clients take URLs
    for table in client.get("/shares/sales/all-tables").json()["items"]:
        assert table.keys() & promised == set()
    metadata = json.loads(client.get(f"{TABLE}/metadata").text.splitlines()[1])["metaData"]
    assert metadata.keys() & promised == set()


@pytest.mark.parametrize("modes", ["url", "dir", "dir,url"])
def test_the_access_mode_of_the_proposal_is_ignored(client: httpx.Client, modes: str) -> None:
    capabilities = {"delta-sharing-capabilities": f"accessmode={modes}"}
    answer = client.get(f"{TABLE}/metadata", headers=capabilities)
    plain = client.get(f"{TABLE}/metadata")
    assert (answer.status_code, answer.content) == (200, plain.content)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet"


def test_a_table_shared_by_directory_alone_is_refused_by_url(client: httpx.Client) -> None:
    answer = client.post(f"{TABLE.replace('orders', 'directory')}/query", json={})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert "directory access (dir) only" in answer.json()["message"]
