"""Delta Sharing protocol, "Query Table Version", "Query Table Metadata", "Read Data …"."""

from __future__ import annotations

import io
import json
import time
from datetime import UTC, datetime
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

ORDERS = "/shares/sales/schemas/eu/tables/orders"
VECTORS = "/shares/sales/schemas/eu/tables/vectors"


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


def ask(
    client: httpx.Client, body: dict[str, Any] | None = None, path: str = ORDERS, **headers: str
) -> httpx.Response:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.post(f"{path}/query", json=body or {}, headers=named)


def ids(files: list[dict[str, Any]]) -> list[int]:
    found: list[int] = []
    for file in files:
        value = file["file"]
        content = httpx.get(value.get("url") or value["deltaSingleAction"]["add"]["path"])
        assert content.status_code == 200
        found += pq.read_table(io.BytesIO(content.content)).column("id").to_pylist()
    return sorted(found)


@pytest.mark.parametrize(("method", "path"), [("GET", f"{ORDERS}/version"), ("HEAD", ORDERS)])
def test_version(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 200
    assert answer.headers["delta-table-version"] == "3"
    assert answer.content == b""


def test_version_at_a_time_before_the_table_is_the_first_one(client: httpx.Client) -> None:
    answer = client.get(f"{ORDERS}/version", params={"startingTimestamp": "2000-01-01T00:00:00Z"})
    assert answer.headers["delta-table-version"] == "0"


def test_version_at_a_time_is_never_below_the_first_shared_one(client: httpx.Client) -> None:
    path = ORDERS.replace("orders", "recent")
    answer = client.get(f"{path}/version", params={"startingTimestamp": "2000-01-01T00:00:00Z"})
    assert answer.headers["delta-table-version"] == "2"


def test_metadata_is_two_lines_and_says_the_version_and_format(client: httpx.Client) -> None:
    answer = client.get(f"{ORDERS}/metadata")
    protocol, metadata = lines(answer)
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    assert answer.headers["delta-table-version"] == "3"
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet"
    value = metadata["metaData"]
    assert value["format"] == {"provider": "parquet"}
    assert value["partitionColumns"] == ["country"]
    assert [field["name"] for field in json.loads(value["schemaString"])["fields"]] == ["id", "country"]
    assert value["numFiles"] == 8
    assert "version" not in value


def test_metadata_of_an_older_version(client: httpx.Client) -> None:
    answer = client.get(f"{ORDERS}/metadata", params={"version": 1})
    assert answer.headers["delta-table-version"] == "1"
    value = lines(answer)[1]["metaData"]
    assert (value["version"], value["numFiles"]) == (1, 4)


def test_query_answers_protocol_metadata_and_files_whose_links_are_read(client: httpx.Client) -> None:
    answer = ask(client)
    first, second, *files = lines(answer)
    assert (first, second) == tuple(lines(client.get(f"{ORDERS}/metadata")))
    assert answer.headers["delta-table-version"] == "3"
    assert ids(files) == [1, 2, 11, 12, 21, 22, 31, 32]
    for file in files:
        value = file["file"]
        assert value.keys() == {"url", "id", "partitionValues", "size", "stats", "expirationTimestamp"}
        assert value["partitionValues"]["country"] in ("DE", "FR")
        assert json.loads(value["stats"])["numRecords"] == 1


def test_urls_live_well_above_the_15_minutes_at_which_spark_refreshes_them(
    client: httpx.Client,
) -> None:
    expires_at = min(file["file"]["expirationTimestamp"] for file in lines(ask(client))[2:])
    assert expires_at / 1000 - time.time() > 2 * 15 * 60


@pytest.mark.parametrize("content", [b"", b"{}", b'{"unknown": [1]}', b'{"predicateHints": []}'])
def test_a_query_without_hints_reads_all(client: httpx.Client, content: bytes) -> None:
    assert len(lines(client.post(f"{ORDERS}/query", content=content))) == 10


def test_file_ids_are_stable_while_urls_are_not_compared(client: httpx.Client) -> None:
    first, second = ([file["file"]["id"] for file in lines(ask(client))[2:]] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_time_travel_by_version(client: httpx.Client) -> None:
    answer = ask(client, {"version": 1})
    _, metadata, *files = lines(answer)
    assert answer.headers["delta-table-version"] == "1"
    assert metadata["metaData"]["version"] == 1
    assert {file["file"]["version"] for file in files} == {1}
    assert ids(files) == [1, 2, 11, 12]


def test_time_travel_by_timestamp(client: httpx.Client) -> None:
    answer = ask(client, {"timestamp": "2200-01-01T00:00:00Z"})
    assert answer.status_code == 400
    commits = {lines(ask(client, {"version": v}))[2]["file"]["timestamp"]: v for v in range(4)}
    moment, version = max(commits.items())
    spelled = datetime.fromtimestamp(moment / 1000, tz=UTC)
    answer = ask(client, {"timestamp": spelled.isoformat()})
    assert answer.headers["delta-table-version"] == str(version)


@pytest.mark.parametrize(
    ("limit", "files"), [(0, 0), (1, 1), (2, 2), (5, 5), (8, 8), (100, 8), (2**63, 8), (-1, 8)]
)
def test_a_limit_hint_stops_when_enough_rows_are_there(
    client: httpx.Client, limit: int, files: int
) -> None:
    assert len(lines(ask(client, {"limitHint": limit}))) == 2 + files


def test_the_wanted_file_id_hash_is_used_and_echoed(client: httpx.Client) -> None:
    answer = ask(client, fileidhash="Delta")
    assert answer.headers["fileidhash"] == "delta"
    assert {len(file["file"]["id"]) for file in lines(answer)[2:]} == {64}


def test_delta_format_answers_the_actions_of_the_log(client: httpx.Client) -> None:
    answer = ask(client, delta_sharing_capabilities="responseformat=delta")
    protocol, metadata, *files = lines(answer)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=delta"
    assert protocol["protocol"]["deltaProtocol"]["minReaderVersion"] == 1
    assert metadata["metaData"]["deltaMetadata"]["format"] == {"provider": "parquet", "options": {}}
    assert len(files) == 8
    for file in files:
        add = file["file"]["deltaSingleAction"]["add"]
        assert add["path"].startswith("http")
        assert add["dataChange"] is True


def test_a_table_with_deletion_vectors_needs_a_client_that_knows_them(client: httpx.Client) -> None:
    capable = "responseformat=delta,parquet;readerfeatures=deletionvectors"
    answer = ask(client, path=VECTORS, delta_sharing_capabilities=capable)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=delta"
    protocol, _, *files = lines(answer)
    assert protocol["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]
    vectors = [file["file"]["deltaSingleAction"]["add"].get("deletionVector") for file in files]
    assert any(vector and vector["storageType"] == "p" for vector in vectors)


@pytest.mark.parametrize(
    ("table", "body", "expected"),
    [
        ("part", {}, [1, 11, 21, 31]),
        ("part", {"version": 1}, [1, 11]),
        ("part", {"limitHint": 2}, [1, 11]),
        ("mine", {}, [2, 12, 22, 32]),
    ],
)
@pytest.mark.parametrize("response_format", ["parquet", "delta"])
def test_only_the_shared_partitions_are_answered(
    client: httpx.Client, table: str, body: dict[str, Any], expected: list[int], response_format: str
) -> None:
    path = ORDERS.replace("orders", table)
    capable = f"responseformat={response_format}"
    _, metadata, *files = lines(ask(client, body, path, delta_sharing_capabilities=capable))
    assert ids(files) == expected
    if "limitHint" not in body:
        assert metadata["metaData"]["numFiles"] == len(files)


def test_names_are_found_in_any_case(client: httpx.Client) -> None:
    assert client.get("/shares/SALES/schemas/Eu/tables/ORDERS/version").status_code == 200


def test_answers_carry_a_request_id(client: httpx.Client) -> None:
    answers = [client.get("/shares", headers={"x-request-id": "abc-1"}) for _ in range(2)]
    assert len({"abc-1", *(answer.headers["x-request-id"] for answer in answers)}) == 3


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"predicateHints": ["country = 'DE'"]}, [1, 11, 21, 31]),
        ({"predicateHints": ["country = 'DE'", "id >= 21"]}, [21, 31]),
        ({"predicateHints": ["id > 1000"]}, []),
        ({"predicateHints": ["not understood at all"]}, [1, 2, 11, 12, 21, 22, 31, 32]),
        ({"predicateHints": ["id <= 1"], "limitHint": 1}, [1]),
        ({"predicateHints": ["id = 12"], "version": 1}, [12]),
        ({"jsonPredicateHints": "{"}, [1, 2, 11, 12, 21, 22, 31, 32]),
        (
            {
                "jsonPredicateHints": json.dumps(
                    {
                        "op": "equal",
                        "children": [
                            {"op": "column", "name": "country", "valueType": "string"},
                            {"op": "literal", "value": "FR", "valueType": "string"},
                        ],
                    }
                )
            },
            [2, 12, 22, 32],
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("response_format", ["parquet", "delta"])
def test_hints_leave_out_files_that_cannot_match(
    client: httpx.Client, body: dict[str, Any], expected: list[int], response_format: str
) -> None:
    capable = f"responseformat={response_format}"
    _, metadata, *files = lines(ask(client, body, delta_sharing_capabilities=capable))
    assert ids(files) == expected
    assert metadata["metaData"]["numFiles"] == (4 if "version" in body else 8)
