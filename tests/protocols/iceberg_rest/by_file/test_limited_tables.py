"""A recipient of a part of a table obtains no other file through the Iceberg catalog."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import fastavro
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gateways.gateway import RunningGateway
from support.process.random_cases import cases

TABLES = "/shares/sales/namespaces/EU/tables"
SHARED = {"part": "DE", "mine": "FR"}
WITH_HISTORY = {"part"}
PROPERTY = settings(
    max_examples=cases(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
COUNTRIES = st.sampled_from(["DE", "FR", "XX", ""])
TESTS = st.one_of(
    st.builds(
        lambda kind, value: {"type": kind, "term": "country", "value": value},
        st.sampled_from(["eq", "not-eq", "lt", "gt-eq", "starts-with", "not-starts-with"]),
        COUNTRIES,
    ),
    st.builds(
        lambda kind, value: {"type": kind, "term": "id", "value": value},
        st.sampled_from(["eq", "not-eq", "lt", "gt-eq"]),
        st.integers(-5, 50),
    ),
    st.builds(
        lambda kind, term: {"type": kind, "term": term},
        st.sampled_from(["is-null", "not-null"]),
        st.sampled_from(["id", "country"]),
    ),
    st.booleans(),
)
FILTERS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "not", "child": one}, inner),
        st.builds(
            lambda kind, left, right: {"type": kind, "left": left, "right": right},
            st.sampled_from(["and", "or"]),
            inner,
            inner,
        ),
    ),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "filter": FILTERS,
        "snapshot-id": st.integers(-1, 6),
        "stats-fields": st.lists(st.sampled_from(["id", "country"]), unique=True),
        "select": st.lists(st.sampled_from(["id", "country"]), unique=True, min_size=1),
        "min-rows-requested": st.integers(0, 10),
    },
)


def load(client: httpx.Client, table: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"{TABLES}/{table}").raise_for_status().json()
    return answer


def plan(client: httpx.Client, table: str, **body: Any) -> list[str]:
    """The paths that a plan names."""
    answer = client.post(f"{TABLES}/{table}/plan", json=body).raise_for_status().json()
    return [task["data-file"]["file-path"] for task in answer["file-scan-tasks"]]


def sign(
    client: httpx.Client, table: str, path: str, method: str = "GET", query: str = "", **more: Any
) -> httpx.Response:
    """Ask for the signature of a request to the store."""
    endpoint = load(client, table)["config"]["s3.endpoint"]
    uri = path.replace("s3://", f"{endpoint}/") + query
    body = {"region": "us-east-1", "uri": uri, "method": method, "headers": {}}
    return client.post(f"{TABLES}/{table}/sign", json=body, **more)


def fetch(client: httpx.Client, table: str, path: str) -> list[Any]:
    """The rows of a generated Avro file."""
    url = sign(client, table, path).raise_for_status().json()["uri"]
    content = httpx.get(url, timeout=30).raise_for_status().content
    return list(fastavro.reader(io.BytesIO(content)))


def check(text: str, country: str) -> None:
    """Nothing concerns a file of another country."""
    other = "FR" if country == "DE" else "DE"
    assert f"country={other}" not in text
    assert f'"partition":["{other}"]' not in text


@PROPERTY
@given(table=st.sampled_from(sorted(SHARED)), body=BODIES)
def test_no_plan_names_a_hidden_file(client: httpx.Client, table: str, body: dict[str, Any]) -> None:
    answer = client.post(f"{TABLES}/{table}/plan", json=body)
    assert answer.status_code in (200, 400), answer.text
    check(answer.text, SHARED[table])


@pytest.mark.parametrize("table", SHARED)
def test_metadata_and_manifests_name_no_hidden_file(client: httpx.Client, table: str) -> None:
    metadata = load(client, table)["metadata"]
    check(str(metadata), SHARED[table])
    files = []
    for snapshot in metadata["snapshots"]:
        assert snapshot["summary"].keys() == {"operation"}
        manifests = fetch(client, table, snapshot["manifest-list"])
        paths = [
            entry["data_file"]["file_path"]
            for manifest in manifests
            for entry in fetch(client, table, manifest["manifest_path"])
        ]
        assert sum(each["existing_files_count"] for each in manifests) == len(paths)
        assert all(f"country={SHARED[table]}/" in path for path in paths)
        files.append(len(paths))
    assert files[-1] == 4
    assert (len(files) > 1) is (table in WITH_HISTORY)


def test_files_of_the_plan_are_signed_and_read(client: httpx.Client) -> None:
    for path in plan(client, "part"):
        url = sign(client, "part", path).raise_for_status().json()["uri"]
        assert httpx.get(url, timeout=30).content[:4] == b"PAR1"


def forged(client: httpx.Client) -> Iterator[tuple[str, str]]:
    """Requests for what the recipient was not offered, by the table that they are sent for."""
    whole = next(path for path in plan(client, "plain") if "country=FR" in path)
    mine = plan(client, "part")[0]
    yield "part", whole  # of the same files, shared in another way
    yield "part", mine.replace("country=DE", "country=FR")
    yield "part", f"{mine}/../../country=FR/x.parquet"
    yield "part", f"{mine}x"
    yield "part", mine.rpartition("/")[0]
    yield "part", "s3://SG/_delta_log/00000000000000000000.json"
    yield "part", "s3://elsewhere/" + mine.removeprefix("s3://SG/")
    yield "mine", mine
    table, head, rest = mine.removeprefix("s3://SG/").split("/", 2)
    version, _, others = head.partition("-")
    yield "part", f"s3://SG/{table}/{int(version) - 1}-{others}/{rest}"  # another version


def test_everything_else_is_refused(client: httpx.Client) -> None:
    for table, path in forged(client):
        assert sign(client, table, path).status_code == 403, path


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_only_reading_is_signed(client: httpx.Client, method: str) -> None:
    [path, *_] = plan(client, "part")
    assert sign(client, "part", path, method).status_code == 403


@pytest.mark.parametrize("query", ["?list-type=2", "?versionId=1", "?uploads", "?acl", "?partNumber=1"])
def test_listings_and_subresources_are_not_signed(client: httpx.Client, query: str) -> None:
    [path, *_] = plan(client, "part")
    assert sign(client, "part", path, query=query).status_code == 403


def test_paths_are_of_their_recipient(client: httpx.Client, tokens: dict[str, str]) -> None:
    [path, *_] = plan(client, "part")
    headers = {"Authorization": f"Bearer {tokens['rival']}"}
    answer = sign(client, "part", path, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["type"] == "ForbiddenException"


def test_a_table_without_history_has_no_older_snapshots(client: httpx.Client) -> None:
    answer = client.post(f"{TABLES}/mine/plan", json={"snapshot-id": 99})
    assert answer.status_code == 400
    assert "has no snapshot 99" in answer.json()["error"]["message"]


def test_versions_before_the_first_shared_one_are_refused(client: httpx.Client) -> None:
    answer = client.post(f"{TABLES}/recent/plan", json={"snapshot-id": 2})
    assert answer.status_code == 400
    assert "not shared" in answer.json()["error"]["message"]
    assert len(plan(client, "recent", **{"snapshot-id": 3})) == 6


def test_a_table_that_is_shared_only_by_directory_is_not_signed(client: httpx.Client) -> None:
    answer = client.post(f"{TABLES}/directory/sign", json={})
    assert answer.status_code == 403


def test_a_bearer_token_reads_nothing(gateway: RunningGateway, client: httpx.Client) -> None:
    [path, *_] = plan(client, "part")
    endpoint = load(client, "part")["config"]["s3.endpoint"]
    answer = client.get(path.replace("s3://", f"{endpoint}/"))
    assert answer.status_code == 403
    assert "only signatures of version 4" in answer.text
