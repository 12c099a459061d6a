"""Limits at each door of a gateway, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from support.gateways.limited_lake import (
    FILES,
    QUERY,
    SCHEMA,
    SHARE,
    TABLE,
    LimitedLake,
    limited_lake,
)

TABLE_PATH = QUERY.removesuffix("/query")
ICEBERG_TABLE = f"/iceberg/v1/shares/{SHARE}/namespaces/{SCHEMA}/tables/{TABLE}"
SLOW = {"requests_per_minute": 1}
RECIPIENTS: dict[str, dict[str, Any]] = {
    "free": {},
    "sharing": SLOW | {"burst": 2},
    "iceberg": SLOW,
    "hadoop": SLOW,
    "assets": SLOW,
    "links": SLOW | {"burst": 2},
    "shown": SLOW | {"burst": 1000, "files_per_day": 100, "bytes_per_day": "1GB"},
    "hot": {"files_per_day": 2 * FILES + 1},
    "small": {"files_per_day": FILES - 1},
    "changes": {"files_per_day": FILES},
    "ranges": {"files_per_day": FILES - 1},
    "sizes": {"files_per_day": FILES - 1},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LimitedLake]:
    with limited_lake(tmp_path_factory.mktemp("limited"), RECIPIENTS) as running:
        yield running


def refused(answer: httpx.Response) -> str:
    """The message of a refusal in the format of Delta Sharing."""
    assert answer.status_code == 429, answer.text
    assert answer.json()["errorCode"] == "RESOURCE_EXHAUSTED"
    assert int(answer.headers["retry-after"]) > 0
    return str(answer.json()["message"])


def urls(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    lines = [json.loads(line) for line in answer.text.splitlines()]
    return [line["file"]["url"] for line in lines if "file" in line]


def test_delta_sharing_refuses_more_requests_than_the_rate(lake: LimitedLake) -> None:
    client = lake.clients["sharing"]
    assert client.get("/delta-sharing/shares").status_code == 200
    assert client.post(QUERY, json={}).status_code == 200
    answer = client.get("/delta-sharing/shares")
    assert "this recipient can send 1 requests per minute, and 2 at once" in refused(answer)
    assert 50 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["ratelimit-policy"] == '"requests";q=2;w=120'
    assert answer.headers["ratelimit"].startswith('"requests";r=0;t=1')
    assert lake.clients["free"].get("/delta-sharing/shares").status_code == 200
    assert lake.gateway.logs("RESOURCE_EXHAUSTED: this recipient can send 1 requests per minute")


def test_iceberg_refuses_in_its_own_format(lake: LimitedLake) -> None:
    client = lake.clients["iceberg"]
    assert client.get(f"/iceberg/v1/config?warehouse={SHARE}").status_code == 200
    answer = client.get(ICEBERG_TABLE)
    assert answer.status_code == answer.json()["error"]["code"] == 429
    assert answer.json()["error"]["type"] == "SlowDownException"
    assert int(answer.headers["retry-after"]) >= 50


@pytest.mark.parametrize(
    ("name", "method", "path"),
    [
        ("hadoop", "POST", f"{TABLE_PATH}/hadoop-delegation-token"),
        ("assets", "GET", f"/delta-sharing/shares/{SHARE}/schemas/{SCHEMA}/volumes"),
    ],
)
def test_the_other_requests_of_recipients_count_too(
    lake: LimitedLake, name: str, method: str, path: str
) -> None:
    client = lake.clients[name]
    assert client.request(method, path, json={}).status_code != 429
    refused(client.request(method, path, json={}))


def test_links_to_generated_files_count_for_their_recipient(lake: LimitedLake) -> None:
    client = lake.clients["links"]
    loaded = client.get(ICEBERG_TABLE).json()
    config = loaded["config"]
    uri = config["s3.endpoint"] + loaded["metadata-location"].removeprefix("s3:/")
    body = {"method": "GET", "uri": uri, "region": "us-east-1", "headers": {}, "provider": "s3"}
    signed = client.post(f"{ICEBERG_TABLE}/sign", json=body)
    link = urlsplit(signed.json()["uri"])
    answer = httpx.get(f"{lake.gateway.address}{link.path}?{link.query}")
    assert "this recipient can send" in refused(answer)


def test_every_response_has_the_limits(lake: LimitedLake) -> None:
    client = lake.clients["shown"]
    before = client.get("/delta-sharing/shares")
    assert before.headers["ratelimit-policy"] == (
        '"requests";q=1000;w=60000, "files";q=100;w=86400, "bytes";q=1000000000;w=86400'
    )
    after = client.post(QUERY, json={})
    left = dict(part.split(";")[:2] for part in after.headers["ratelimit"].split(", "))
    assert left == {
        '"requests"': "r=998",
        '"files"': f"r={100 - FILES}",
        '"bytes"': f"r={10**9 - lake.bytes}",
    }
    missing = client.get("/delta-sharing/shares/nothing")
    assert missing.status_code == 404
    assert '"requests";r=' in missing.headers["ratelimit"]
    assert "ratelimit" not in lake.clients["free"].get("/delta-sharing/shares").headers


def test_cached_answers_count_as_new_ones(lake: LimitedLake) -> None:
    client = lake.clients["hot"]
    first = urls(client.post(QUERY, json={}))
    assert urls(client.post(QUERY, json={})) == first
    message = refused(client.post(QUERY, json={}))
    assert f"at most {2 * FILES + 1} files per day: it got {2 * FILES} today" in message
    assert len(urls(client.post(QUERY, json={"maxFiles": 1}))) == 1


def test_a_query_with_more_files_than_a_day_has_is_refused_before_it_starts(lake: LimitedLake) -> None:
    client = lake.clients["small"]
    message = refused(client.post(QUERY, json={}))
    assert f"this response has {FILES} files" in message
    assert len(urls(client.post(QUERY, json={"maxFiles": FILES - 1}))) == FILES - 1
    refused(client.post(QUERY, json={"limitHint": 1}))
    assert client.get(f"{TABLE_PATH}/metadata").status_code == 200


def test_change_feeds_count(lake: LimitedLake) -> None:
    client = lake.clients["changes"]
    feed = f"{TABLE_PATH}/changes?startingVersion=0"
    assert client.get(feed).status_code == 200
    assert f"it got {FILES} today" in refused(client.get(feed))


@pytest.mark.parametrize(("name", "method"), [("ranges", "GET"), ("sizes", "HEAD")])
def test_files_of_iceberg_clients_count_when_they_are_signed(
    lake: LimitedLake, name: str, method: str
) -> None:
    """Links of the plugin `file` accept both methods, whichever was signed."""
    client = lake.clients[name]
    config = client.get(ICEBERG_TABLE).json()["config"]
    plan = client.post(f"{ICEBERG_TABLE}/plan", json={})
    paths = [task["data-file"]["file-path"] for task in plan.json()["file-scan-tasks"]]
    assert len(paths) == FILES

    def sign(path: str) -> httpx.Response:
        uri = config["s3.endpoint"] + path.removeprefix("s3:/")
        body = {"method": method, "uri": uri, "region": "us-east-1", "headers": {}, "provider": "s3"}
        return client.post(f"{ICEBERG_TABLE}/sign", json=body)

    link = urlsplit(sign(paths[0]).json()["uri"])
    read = httpx.get(f"{lake.gateway.address}{link.path}?{link.query}")
    assert (read.status_code, len(read.content) > 0) == (200, True)
    assert [sign(path).status_code for path in (paths[0], *paths)] == [200] * FILES + [429]
    assert '"files";r=0;' in sign(paths[0]).headers["ratelimit"]


def test_addresses_are_limited_before_authentication(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {
        "limits": {"address": {"requests_per_minute": 1, "burst": 3, "files_per_day": FILES}},
        "server": {"forwarded_allow_ips": ["127.0.0.1"]},
    }
    with limited_lake(tmp_path_factory.mktemp("addresses"), {"acme": {}}, settings) as lake:
        address, acme = lake.gateway.address, lake.clients["acme"]

        def get(path: str, client: str) -> httpx.Response:
            return httpx.get(address + path, headers={"x-forwarded-for": client})

        for last in range(1, 4):  # one network
            assert get("/delta-sharing/shares", f"2001:db8::{last}").status_code == 401
        assert "your address can send 1 requests" in refused(
            get("/delta-sharing/shares", "2001:db8::9")
        )
        iceberg = get("/iceberg/v1/config", "2001:db8::1")
        assert iceberg.json()["error"]["type"] == "SlowDownException"
        oauth = httpx.post(f"{address}/oauth/token", headers={"x-forwarded-for": "2001:db8::1"})
        assert (oauth.status_code, oauth.json()["error"]) == (429, "slow_down")
        for answer in (iceberg, oauth):
            assert 50 <= int(answer.headers["retry-after"]) <= 60
        assert get("/livez", "2001:db8::1").status_code == 200
        assert get("/delta-sharing/shares", "192.0.2.1").status_code == 401
        assert acme.get("/delta-sharing/shares").status_code == 200
        assert len(urls(acme.post(QUERY, json={}))) == FILES
        assert f"your address gets at most {FILES} files" in refused(acme.post(QUERY, json={}))
