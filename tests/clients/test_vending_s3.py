"""Credentials through the gateway, on a store that checks session policies and expiries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pyarrow as pa
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from support.gateways.s3_lake import S3Lake, s3_lake, storage_of, write_table

from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"id": pa.array(range(5), pa.int64())})
SIBLINGS = ("other", "orders2", "orders_archive", "sales/orders")
POND = "pond"
KEY = "orders/_delta_log/00000000000000000000.json"


@dataclass(frozen=True)
class Given:
    """What a recipient was given, and the store as it sees it by these."""

    credentials: dict[str, Any]
    s3: Any
    bucket: str

    def get(self, key: str, bucket: str | None = None) -> bytes:
        body: bytes = self.s3.get_object(Bucket=bucket or self.bucket, Key=key)["Body"].read()
        return body

    def list(self, prefix: str, bucket: str | None = None) -> list[str]:
        found = self.s3.list_objects_v2(Bucket=bucket or self.bucket, Prefix=prefix)
        return [item["Key"] for item in found.get("Contents", [])]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        _fill(running)
        yield running


@pytest.fixture(scope="module")
def given(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    with _lake(server, tmp_path_factory) as lake:
        yield _given(server, lake)


def _fill(server: SeaweedFS) -> None:
    write_table(server, "orders", ROWS)
    for sibling in SIBLINGS:
        server.put(f"{sibling}/a.parquet", b"of a neighbour")
    admin = _client(server, server.admin.access_key_id, server.admin.secret_access_key)
    admin.create_bucket(Bucket=POND)
    admin.put_object(Bucket=POND, Key=KEY, Body=b"of another bucket")


def _lake(server: SeaweedFS, folders: pytest.TempPathFactory) -> Any:
    storage = {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
    }
    options = {"access_modes": ["url", "dir"]}
    return s3_lake(folders.mktemp("gateway"), storage, ["orders"], options=options)


def _given(server: SeaweedFS, lake: S3Lake) -> Given:
    answer = lake.credentials("orders")
    assert answer.status_code == 200, answer.text
    credentials = answer.json()["credentials"]
    secret = credentials["awsTempCredentials"]
    names = ("accessKeyId", "secretAccessKey", "sessionToken")
    return Given(credentials, _client(server, *(secret[name] for name in names)), server.bucket)


def _client(server: SeaweedFS, key: str, secret: str, token: str | None = None) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=server.region,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )


def test_the_tables_prefix_is_listed_and_read(given: Given) -> None:
    keys = given.list("orders/")
    assert KEY in keys
    assert all(given.get(key) for key in keys)


@pytest.mark.parametrize(
    "attempt",
    [
        *(lambda given, name=name: given.get(f"{name}/a.parquet") for name in SIBLINGS),
        *(lambda given, name=name: given.list(f"{name}/") for name in SIBLINGS),
        lambda given: given.list(""),
        lambda given: given.list("orders"),
        lambda given: given.get(KEY, POND),
        lambda given: given.list("orders/", POND),
        lambda given: given.s3.put_object(Bucket=given.bucket, Key="orders/mine", Body=b"x"),
        lambda given: given.s3.put_object(Bucket=given.bucket, Key=KEY, Body=b"x"),
        lambda given: given.s3.delete_object(Bucket=given.bucket, Key=KEY),
    ],
)
def test_everything_else_is_refused(given: Given, attempt: Callable[[Given], object]) -> None:
    with pytest.raises(ClientError) as refused:
        attempt(given)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_they_say_when_they_end_and_are_dead_then(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        SeaweedFS.start(tmp_path_factory.mktemp("short"), session_seconds=10) as server,
        _lake_with_table(server, tmp_path_factory) as lake,
    ):
        given = _given(server, lake)
        until = given.credentials["expirationTime"] / 1000
        assert until - time.time() <= 11
        assert given.get(KEY)
        time.sleep(max(0, until - time.time()) + 2)  # nothing but time ends them
        with pytest.raises(ClientError):
            given.get(KEY)
        again = _given(server, lake)
        assert again.credentials != given.credentials
        assert again.get(KEY)


def _lake_with_table(server: SeaweedFS, folders: pytest.TempPathFactory) -> Any:
    write_table(server, "orders", ROWS)
    return _lake(server, folders)


def test_the_ledger_has_them_and_no_secret(
    server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with _lake(server, tmp_path_factory) as lake:
        given = _given(server, lake)
        [file] = lake.files("orders")
        assert httpx.get(file["url"]).status_code == 200
        shown = lake.gateway.command("ledger", "--json", "--kind", "credentials")
        database = (lake.gateway.folder / "sluicegate.db").read_bytes()
        wal = lake.gateway.folder / "sluicegate.db-wal"
        stored = database + (wal.read_bytes() if wal.exists() else b"")
        assert f"s3://{server.bucket}/orders".encode() in stored
        for secret in given.credentials["awsTempCredentials"].values():
            assert secret not in shown
            assert secret not in lake.gateway.log
            assert secret.encode() not in stored
