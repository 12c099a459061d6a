"""The protocol in delta format declares deletion vectors where an answer has some, and only there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pyarrow as pa
import pytest
from pyiceberg.table import Table
from support.gateways.iceberg_sharing import IcebergSharing
from support.gateways.shared_lake import asking
from support.tables.iceberg_deletes import data_files, delete_positions
from support.tables.iceberg_history import numbered_snapshots
from support.tables.rows import assert_same_rows

CAPABLE = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors"}
PLAIN = {"delta-sharing-capabilities": "responseformat=delta"}


@pytest.fixture(scope="module")
def client(lake: IcebergSharing) -> Iterator[httpx.Client]:
    with asking(lake.recipient.profile) as client:
        yield client


@pytest.fixture
def table(lake: IcebergSharing) -> tuple[str, Table, list[int]]:
    """Five rows, of which the next version deletes two and the last one rewrites the others."""
    rows = pa.table({"id": pa.array(range(5), pa.int64()), "name": list("abcde")})
    name, table = lake.table(rows.schema)
    table.append(rows)
    delete_positions(table, {data_files(table)[0]: [1, 3]})
    table.overwrite(table.scan().to_arrow())
    numbers = [number for number, _ in numbered_snapshots(table)]
    return name, table, numbers


def lines_of(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [orjson.loads(line) for line in answer.text.splitlines()]


def features_of(line: dict[str, Any]) -> list[str]:
    protocol = line["protocol"]["deltaProtocol"]
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == (3, 7)
    declared: list[str] = protocol["readerFeatures"]
    assert ("deletionVectors" in protocol["writerFeatures"]) is ("deletionVectors" in declared)
    return declared


def test_a_version_declares_vectors_if_its_files_have_some(
    client: httpx.Client, table: tuple[str, Table, list[int]]
) -> None:
    name, _, numbers = table
    path = f"/shares/lake/schemas/full/tables/{name}/query"
    for number, declared in zip(numbers[:2], ([], ["deletionVectors"]), strict=True):
        protocol, _, *files = lines_of(client.post(path, json={"version": number}, headers=CAPABLE))
        assert features_of(protocol) == declared
        vectors = [each["file"]["deltaSingleAction"]["add"].get("deletionVector") for each in files]
        assert any(vectors) is bool(declared)
    protocol, *_ = lines_of(client.post(path, json={}, headers=PLAIN))
    assert features_of(protocol) == []


def test_each_page_of_a_version_with_vectors_comes_with_the_feature(
    lake: IcebergSharing, client: httpx.Client
) -> None:
    rows = pa.table({"id": pa.array(range(3), pa.int64())})
    name, table = lake.table(rows.schema)
    for _ in range(4):
        table.append(rows)
    delete_positions(table, {max(data_files(table)): [0]})
    path = f"/shares/lake/schemas/full/tables/{name}/query"
    token, seen = None, []
    for _ in range(4):
        body = {"maxFiles": 1, **({"pageToken": token} if token else {})}
        found = lines_of(client.post(path, json=body, headers=CAPABLE))
        if token is None:
            assert features_of(found[0]) == ["deletionVectors"]
        seen += [line for line in found if "file" in line]
        token = found[-1].get("endStreamAction", {}).get("nextPageToken")
        if token is None:
            break
    assert len(seen) == 4


def test_changes_declare_vectors_if_a_version_of_the_range_has_some(
    lake: IcebergSharing, client: httpx.Client, table: tuple[str, Table, list[int]]
) -> None:
    name, iceberg, numbers = table
    path = f"/shares/lake/schemas/full/tables/{name}/changes"
    for start, declared in ((numbers[0], ["deletionVectors"]), (numbers[-1], [])):
        bounds = {"startingVersion": start, "endingVersion": numbers[-1]}
        protocol, *_ = lines_of(client.get(path, params=bounds, headers=CAPABLE))
        assert features_of(protocol) == declared
    found = lake.recipient.changes(name, use_delta_format=True, starting_version=numbers[0])
    kinds = found["_change_type"].value_counts().to_dict()
    assert kinds["insert"] - kinds["delete"] == iceberg.scan().to_arrow().num_rows
    assert_same_rows(iceberg.scan().to_arrow(), lake.recipient.read(name, use_delta_format=True))
