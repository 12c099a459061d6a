"""Tables read by directory access: listed, credentials fetched, log and files read with these."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from obstore.exceptions import BaseError
from obstore.store import S3Store
from support.gateways.s3_lake import SCHEMA, S3Lake, s3_lake, storage_of, write_table
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"id": pa.array(range(20), pa.int64()), "city": ["Köln", "Bonn"] * 10})
ORDERS, CLONE, SOURCE = "orders", "clone", "sources/orders"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        write_table(running, ORDERS, ROWS, partition_by=["city"])
        write_table(running, SOURCE, ROWS, partition_by=["city"])
        clone(running, SOURCE, CLONE)
        yield running


@pytest.fixture(scope="module")
def lake(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Lake]:
    storage = {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
        "absolute_paths": [f"s3://{server.bucket}/sources/"],
    }
    folder = tmp_path_factory.mktemp("gateway")
    modes = {"access_modes": ["url", "dir"]}
    with s3_lake(folder, storage, [ORDERS, CLONE], options=modes) as running:
        yield running


def clone(server: SeaweedFS, source: str, target: str) -> None:
    """A shallow clone: a log that names the source's files by absolute paths."""
    name = "_delta_log/00000000000000000000.json"
    log = bytes(obstore.get(server.store(server.admin), f"{source}/{name}").bytes())
    actions = [json.loads(line) for line in log.splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = f"s3://{server.bucket}/{source}/{action['add']['path']}"
    server.put(f"{target}/{name}", "\n".join(map(json.dumps, actions)).encode())


def listed(lake: S3Lake, table: str) -> dict[str, Any]:
    items = lake.get(f"schemas/{SCHEMA}/tables").json()["items"]
    found: dict[str, Any] = next(item for item in items if item["name"] == table)
    return found


def vended(lake: S3Lake, table: str, location: str | None = None) -> dict[str, Any]:
    answer = lake.credentials(table, location)
    assert answer.status_code == 200, answer.text
    given: dict[str, Any] = answer.json()["credentials"]
    return given


def store(server: SeaweedFS, given: dict[str, Any]) -> S3Store:
    """The bucket, opened as a recipient does."""
    secret = given["awsTempCredentials"]
    return S3Store(
        server.bucket,
        endpoint=server.endpoint,
        region=server.region,
        access_key_id=secret["accessKeyId"],
        secret_access_key=secret["secretAccessKey"],
        session_token=secret["sessionToken"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


def test_deltalake_reads_a_table_by_what_the_endpoint_returned(server: SeaweedFS, lake: S3Lake) -> None:
    item = listed(lake, ORDERS)
    assert item["accessModes"] == ["url", "dir"]
    given = vended(lake, ORDERS)
    assert given["location"] == item["location"]
    secret = given["awsTempCredentials"]
    table = DeltaTable(
        given["location"],
        storage_options={
            "aws_endpoint": server.endpoint,
            "aws_region": server.region,
            "aws_access_key_id": secret["accessKeyId"],
            "aws_secret_access_key": secret["secretAccessKey"],
            "aws_session_token": secret["sessionToken"],
            "aws_allow_http": "true",
        },
    )
    assert_same_rows(ROWS, table.to_pandas())
    assert_same_rows(ROWS, lake.recipient.read(ORDERS))


def test_a_clone_is_read_by_credentials_for_each_of_its_locations(
    server: SeaweedFS, lake: S3Lake
) -> None:
    answer = lake.get(f"schemas/{SCHEMA}/tables/{CLONE}/metadata")
    metadata = json.loads(answer.text.splitlines()[1])["metaData"]
    assert metadata["location"] == f"s3://{server.bucket}/{CLONE}"
    [elsewhere] = metadata["auxiliaryLocations"]
    assert elsewhere == f"s3://{server.bucket}/{SOURCE}"
    root, auxiliary = (store(server, vended(lake, CLONE, location)) for location in (None, elsewhere))
    log = obstore.get(root, f"{CLONE}/_delta_log/00000000000000000000.json").bytes()
    adds = [value["add"] for line in bytes(log).splitlines() if (value := json.loads(line)).get("add")]
    keys = [unquote(add["path"]).removeprefix(f"s3://{server.bucket}/") for add in adds]
    tables = [
        pq.read_table(io.BytesIO(bytes(obstore.get(auxiliary, key).bytes()))).append_column(
            "city", pa.array([add["partitionValues"]["city"]] * (len(ROWS) // 2), pa.string())
        )
        for add, key in zip(adds, keys, strict=True)
    ]
    assert_same_rows(ROWS, pa.concat_tables(tables).to_pandas())
    assert_same_rows(ROWS, lake.recipient.read(CLONE))
    with pytest.raises(BaseError):
        obstore.get(root, keys[0])
    with pytest.raises(BaseError):
        obstore.get(auxiliary, f"{CLONE}/_delta_log/00000000000000000000.json")


@pytest.mark.parametrize("place", ["sources", "sources/orders/city=Bonn", ORDERS, ""])
def test_other_directories_than_the_tables_are_refused(
    server: SeaweedFS, lake: S3Lake, place: str
) -> None:
    answer = lake.credentials(CLONE, f"s3://{server.bucket}/{place}")
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == "INVALID_PARAMETER_VALUE"
