"""Tables whose storage gives no credentials, and what the share says: directory access proposal."""

from __future__ import annotations

import json

import httpx
import pytest

URL = "/shares/sales/schemas/eu/tables/orders"
DIRECTORY = "/shares/sales/schemas/eu/tables/directory"


def test_directory_access_is_not_promised_where_it_cannot_be_served(client: httpx.Client) -> None:
    promised = {"accessModes", "location", "auxiliaryLocations"}  # without them clients take URLs
    for table in client.get("/shares/sales/all-tables").json()["items"]:
        assert table.keys() & promised == set()
    assert client.get(URL).json().keys() & promised == set()
    for answer in (client.get(f"{URL}/metadata"), client.post(f"{URL}/query", json={})):
        metadata = json.loads(answer.text.splitlines()[1])["metaData"]
        assert metadata.keys() & promised == set()


@pytest.mark.parametrize("modes", ["url", "dir", "dir,url"])
def test_a_client_learns_that_there_are_only_urls(client: httpx.Client, modes: str) -> None:
    capabilities = {"delta-sharing-capabilities": f"accessMode={modes}"}
    answer = client.get(f"{URL}/metadata", headers=capabilities)
    plain = client.get(f"{URL}/metadata")
    assert (answer.status_code, answer.content) == (200, plain.content)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet;accessmode=url"
    assert plain.headers["delta-sharing-capabilities"] == "responseformat=parquet"


def test_the_capability_counts_for_metadata_only(client: httpx.Client) -> None:
    capabilities = {"delta-sharing-capabilities": "accessMode=dir"}
    answer = client.post(f"{URL}/query", json={}, headers=capabilities)
    assert answer.status_code == 200
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "metadata"), ("POST", "query"), ("GET", "changes?startingVersion=0")]
)
def test_a_table_shared_by_directory_alone_is_refused(
    client: httpx.Client, method: str, path: str
) -> None:
    answer = client.request(method, f"{DIRECTORY}/{path}", json={} if method == "POST" else None)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "UNSUPPORTED_OPERATION")


def test_a_refusal_says_what_to_do(client: httpx.Client) -> None:
    message = client.post(f"{DIRECTORY}/query", json={}).json()["message"]
    assert "directory access (dir) only" in message
    assert "ask the provider to share it with url" in message
