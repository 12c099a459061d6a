"""Capability `asyncquery` and "Get Query Info" (docs/interop.md), with a store that is slow."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pytest
from support.clients.spark_connector import Connector, spoken
from support.gateways.gateway import RunningGateway, running_gateway
from support.gateways.s3_lake import SCHEMA, SHARE, S3Lake, s3_lake, storage_of, write_table
from support.servers.slow_proxy import SlowProxy, slow_proxy

from sluicegate_testing.servers.seaweedfs import SeaweedFS

TABLES = ("slow", "restarted", "paged", "broken", "quick", "refreshed", "large", "connector")
PATH = f"/shares/{SHARE}/schemas/{SCHEMA}/tables"
ASYNC = {"delta-sharing-capabilities": "asyncquery=true"}


@dataclass(frozen=True)
class Site:
    lake: S3Lake
    store: SeaweedFS
    proxy: SlowProxy

    def client(self, gateway: RunningGateway | None = None) -> httpx.Client:
        token = json.loads(self.lake.recipient.profile.read_text())["bearerToken"]
        endpoint = (gateway or self.lake.gateway).endpoint
        return httpx.Client(base_url=endpoint, headers={"Authorization": f"Bearer {token}"}, timeout=60)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("async")
    with (
        SeaweedFS.start(folder / "store") as store,
        slow_proxy(urlsplit(store.endpoint).port or 0) as proxy,
    ):
        for name in TABLES:
            for number in range(3):
                write_table(store, name, pa.table({"id": [number]}), mode="append")
        storage = {**storage_of(store), "endpoint": f"http://127.0.0.1:{proxy.port}"}
        # No snapshot fits the cache: what the tests see has to work for the largest tables.
        cache = {"snapshots": 0}
        with s3_lake(folder, storage, TABLES, cache=cache) as lake:
            yield Site(lake, store, proxy)


@pytest.fixture
def slow_store(site: Site) -> Iterator[None]:
    site.proxy.delay = 2.1
    yield
    site.proxy.delay = 0


def submit(client: httpx.Client, table: str, key: str, **body: Any) -> httpx.Response:
    content = {"idempotencyKey": key, **body}
    answer = client.post(f"{PATH}/{table}/query", json=content, headers=ASYNC)
    assert answer.status_code == 200, answer.text
    return answer


def query_id(answer: httpx.Response) -> str:
    [line] = answer.text.splitlines()
    status = json.loads(line)["queryStatus"]
    assert status["status"] == "pending"
    return str(status["queryId"])


def poll(
    client: httpx.Client, table: str, id: str, pause: float = 0.2, **body: Any
) -> list[dict[str, Any]]:
    """Poll until the query is not pending any more, with so many seconds between two polls."""
    for _ in range(round(12 / pause)):
        answer = client.post(f"{PATH}/{table}/queries/{id}", json={"queryId": id, **body})
        assert answer.status_code == 200, answer.text
        lines = [json.loads(line) for line in answer.text.splitlines()]
        if lines[0].get("queryStatus", {}).get("status") != "pending":
            return lines
        time.sleep(pause)
    raise AssertionError("the query stays pending")


@pytest.mark.usefixtures("slow_store")
def test_a_slow_query_is_pending_and_then_answers_like_any_other(site: Site) -> None:
    with site.client() as client:
        answer = submit(client, "slow", "k1")
        assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet;asyncquery=true"
        assert "delta-table-version" in answer.headers
        id = query_id(answer)
        assert query_id(submit(client, "slow", "k1")) == id
        assert query_id(submit(client, "slow", "k2")) != id
        lines = poll(client, "slow", id)
        assert [next(iter(line)) for line in lines] == ["protocol", "metaData", *["file"] * 3]


def test_a_table_in_memory_is_answered_at_once(site: Site) -> None:
    with site.client() as client:
        plain = client.post(f"{PATH}/quick/query", json={})  # takes the table into memory
        assert plain.status_code == 200
        lines = submit(client, "quick", "k1").text.splitlines()
        assert len(lines) == 5
        assert "queryStatus" not in lines[0]


@pytest.mark.usefixtures("slow_store")
def test_a_query_survives_a_restart_of_the_gateway(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "restarted", "k1"))
    with running_gateway(site.lake.gateway.folder) as again, site.client(again) as client:
        assert len(poll(client, "restarted", id)) == 5


@pytest.mark.usefixtures("slow_store")
def test_the_answer_of_a_query_comes_in_pages(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "paged", "k1"))
        first = poll(client, "paged", id, maxFiles=2)
        token = first[-1]["endStreamAction"]["nextPageToken"]
        second = poll(client, "paged", id, maxFiles=2, pageToken=token)
        files = [line["file"]["id"] for line in first + second if "file" in line]
        assert len(files) == len(set(files)) == 3


@pytest.mark.usefixtures("slow_store")
def test_a_page_of_a_query_is_never_pending(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "paged", "k2"))
        token = poll(client, "paged", id, maxFiles=2)[-1]["endStreamAction"]["nextPageToken"]
    with running_gateway(site.lake.gateway.folder) as again, site.client(again) as client:
        body = {"queryId": id, "maxFiles": 2, "pageToken": token}
        answer = client.post(f"{PATH}/paged/queries/{id}", json=body)
        assert [next(iter(json.loads(line))) for line in answer.text.splitlines()] == [
            "protocol",
            "metaData",
            "file",
            "endStreamAction",
        ]
        spoiled = client.post(f"{PATH}/paged/queries/{id}", json={**body, "pageToken": f"{token}A"})
        assert spoiled.status_code == 400


@pytest.mark.usefixtures("slow_store")
def test_polls_go_on_with_a_snapshot_that_does_not_fit_the_cache(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "large", "k1"))
        time.sleep(6)  # longer than the load, as the Spark client's 10 s often are
        assert len(poll(client, "large", id, pause=6)) == 5


@pytest.mark.usefixtures("slow_store")
def test_a_query_that_wants_a_refresh_token_may_be_pending(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "refreshed", "k1", includeRefreshToken=True))
        *lines, last = poll(client, "refreshed", id, maxFiles=2)
        assert [next(iter(line)) for line in lines] == ["protocol", "metaData", "file", "file"]
        token = last["endStreamAction"]["refreshToken"]
        page = last["endStreamAction"]["nextPageToken"]
        [*_, end] = poll(client, "refreshed", id, maxFiles=2, pageToken=page)
        assert "refreshToken" not in end["endStreamAction"]
        again = submit(client, "refreshed", "k2", includeRefreshToken=True, refreshToken=token)
        assert len(again.text.splitlines()) == 6


@pytest.mark.usefixtures("slow_store")
def test_the_spark_connector_reads_the_pages_of_an_asynchronous_query(site: Site) -> None:
    with site.client() as client:
        path = f"{PATH}/connector"
        spark = Connector(client, path, asynchronous=True, max_files=1, ended=True, pause=6)
        found = spark.files()
        assert spark.polls == [True, False]
        assert found.pages == 3
        assert found.refresh_token is not None
        quick = Connector(client, path, max_files=1)
        assert spoken(quick.files()) == spoken(found)
        assert spoken(spark.files(refresh_token=found.refresh_token)) == spoken(found)


@pytest.mark.usefixtures("slow_store")
def test_a_query_that_fails_later_says_so(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "broken", "k1"))
        site.store.put("broken/_delta_log/00000000000000000003.json", b"nonsense")
        site.store.delete("broken/_delta_log/00000000000000000000.json")
        [line] = poll(client, "broken", id)
        status = line["queryStatus"]
        assert (status["queryId"], status["status"]) == (id, "failed")
        assert status["errorMessage"]


@pytest.mark.parametrize("id", ["nonsense", "AAAA", "A" * 3000, "%20", "é"])
def test_unknown_queries_are_not_found(site: Site, id: str) -> None:
    with site.client() as client:
        answer = client.post(f"{PATH}/quick/queries/{id}", json={})
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.mark.usefixtures("slow_store")
def test_a_query_of_another_table_is_not_found(site: Site) -> None:
    with site.client() as client:
        id = query_id(submit(client, "slow", "k9", version=1))
        assert client.post(f"{PATH}/quick/queries/{id}", json={}).status_code == 404


def test_an_asynchronous_query_needs_a_key(site: Site) -> None:
    with site.client() as client:
        answer = client.post(f"{PATH}/quick/query", json={}, headers=ASYNC)
        assert answer.status_code == 400
        assert "idempotencyKey" in answer.json()["message"]


def test_the_key_may_be_spelled_as_the_spark_client_does(site: Site) -> None:
    with site.client() as client:
        body = {"idempotency_key": "k"}
        assert client.post(f"{PATH}/quick/query", json=body, headers=ASYNC).status_code == 200
