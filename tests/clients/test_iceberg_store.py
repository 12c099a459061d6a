"""Iceberg clients that do not send requests to be signed read tables through the gateway as a store.

PyIceberg does so with its ordinary FileIO, which is PyArrow's; boto3 stands for other clients of S3.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pyarrow.parquet as pq
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway

from sluicegate.cli.demo.reading import difference

TABLES = {
    "plain": "types-decimals",
    "history": "history-merged",
    "partitioned": "partitions-of-escaped-texts",
    "deletion vectors": "vectors-replaced",
    "inline deletion vectors": "vectors-inline",
    "column mapping": "statistics-mapped-by-id",
    "empty": "path-escaped-and-removed",
}
_DELEGATION = "X-Iceberg-Access-Delegation"


@cache
def catalog(profile: str, access: str) -> RestCatalog:
    """The share, as PyIceberg finds it by the profile."""
    known = json.loads(profile)
    return RestCatalog(
        "share",
        uri=known["icebergEndpoint"],
        warehouse=SHARE,
        token=known["bearerToken"],
        **{f"header.{_DELEGATION}": access},
    )


def loaded(readers: ReaderGateway, name: str, access: str | None = None) -> Any:
    """What a client gets that loads a table."""
    profile = json.loads(readers.recipient.profile.read_text())
    url = f"{profile['icebergEndpoint']}/v1/shares/{SHARE}/namespaces/{SCHEMA}/tables/{name}"
    headers = {"Authorization": f"Bearer {profile['bearerToken']}"}
    if access is not None:
        headers[_DELEGATION] = access
    return httpx.get(url, headers=headers, timeout=30).raise_for_status().json()


def client_of(config: dict[str, str], style: str = "path", version: str = "s3v4") -> Any:
    """A client of S3 with these settings."""
    return boto3.client(
        "s3",
        endpoint_url=config["s3.endpoint"],
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
        region_name=config["s3.region"],
        config=Config(
            s3={"addressing_style": style}, signature_version=version, retries={"max_attempts": 1}
        ),
    )


@pytest.mark.parametrize("kind", TABLES)
def test_a_client_without_a_signer_reads_the_rows(readers: ReaderGateway, kind: str) -> None:
    name = TABLES[kind]
    share = catalog(readers.recipient.profile.read_text(), "vended-credentials")
    table = share.load_table((SCHEMA, name))
    assert isinstance(table.io, PyArrowFileIO)
    found = difference(readers.expected(name), table.scan().to_arrow().to_pandas())
    assert found is None, found


@pytest.mark.parametrize("access", [None, "vended-credentials"])
def test_keys_are_vended_with_a_prefix_of_all_files(readers: ReaderGateway, access: str | None) -> None:
    answer = loaded(readers, TABLES["partitioned"], access)
    [credentials] = answer["storage-credentials"]
    config, location = credentials["config"], answer["metadata"]["location"]
    assert credentials["prefix"] == location
    assert answer["metadata-location"].startswith(f"{location}/")
    assert config.items() <= answer["config"].items()
    assert config["s3.path-style-access"] == "true"
    assert config["s3.region"] == config["client.region"]
    assert "s3.remote-signing-enabled" not in answer["config"]
    refresh = answer["config"]["client.refresh-credentials-endpoint"]
    profile = json.loads(readers.recipient.profile.read_text())
    headers = {"Authorization": f"Bearer {profile['bearerToken']}"}
    renewed = httpx.get(f"{profile['icebergEndpoint']}/{refresh}", headers=headers, timeout=30).json()
    [again] = renewed["storage-credentials"]
    assert again["prefix"] == location
    assert again["config"]["s3.session-token"] != config["s3.session-token"]
    bucket, key = split(answer["metadata-location"])
    assert client_of(again["config"]).head_object(Bucket=bucket, Key=key)


@pytest.mark.parametrize("access", ["remote-signing", "vended-credentials,remote-signing"])
def test_clients_that_can_sign_get_no_keys(readers: ReaderGateway, access: str) -> None:
    answer = loaded(readers, TABLES["plain"], access)
    assert answer["config"]["s3.remote-signing-enabled"] == "true"
    assert "storage-credentials" not in answer
    assert not any("key" in name or "token" in name for name in answer["config"])


def test_a_client_that_can_use_no_way_gets_the_reason(readers: ReaderGateway) -> None:
    with pytest.raises(httpx.HTTPStatusError) as refused:
        loaded(readers, TABLES["plain"], "carrier-pigeon")
    error = refused.value.response.json()["error"]
    assert error["type"] == "BadRequestException"
    assert "vended-credentials" in error["message"]


def test_the_bucket_is_none_that_aws_can_have(readers: ReaderGateway) -> None:
    bucket, key = split(loaded(readers, TABLES["plain"])["metadata-location"])
    assert len(bucket) < 3
    assert bucket != bucket.lower()
    number, _, rest = key.rpartition("/")[2].partition("-")
    assert number.isdigit()
    assert rest.endswith(".metadata.json")


def split(location: str) -> tuple[str, str]:
    """The bucket and the key of a location."""
    found = urlsplit(location)
    return found.netloc, location.removeprefix(f"s3://{found.netloc}/")


def data_files(readers: ReaderGateway, name: str) -> list[str]:
    """The locations of a table's data files, as a client finds them."""
    share = catalog(readers.recipient.profile.read_text(), "vended-credentials")
    planned = share.load_table((SCHEMA, name)).scan().plan_files()
    return [task.file.file_path for task in planned]


def test_boto3_reads_objects_and_ranges(readers: ReaderGateway, tmp_path: Any) -> None:
    name = TABLES["partitioned"]
    s3 = client_of(loaded(readers, name)["config"])
    locations = data_files(readers, name)
    assert any("%" in location for location in locations)
    rows = 0
    for location in locations:
        bucket, key = split(location)
        head = s3.head_object(Bucket=bucket, Key=key)
        size, etag = head["ContentLength"], head["ETag"]
        assert head["LastModified"]
        got = s3.get_object(Bucket=bucket, Key=key, IfMatch=etag)
        content = got["Body"].read()
        assert (len(content), got["ETag"], content[:4]) == (size, etag, b"PAR1")
        last = s3.get_object(Bucket=bucket, Key=key, Range="bytes=-8")
        assert (last["Body"].read(), last["ResponseMetadata"]["HTTPStatusCode"]) == (content[-8:], 206)
        part = s3.get_object(Bucket=bucket, Key=key, Range="bytes=4-11")
        assert part["ContentRange"] == f"bytes 4-11/{size}"
        assert part["Body"].read() == content[4:12]
        (tmp_path / "file.parquet").write_bytes(content)
        rows += pq.read_metadata(tmp_path / "file.parquet").num_rows
        url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key})
        assert httpx.get(url, timeout=30).content == content
    assert rows == readers.expected(name).num_rows


def test_boto3_gets_the_errors_of_s3(readers: ReaderGateway) -> None:
    answer = loaded(readers, TABLES["plain"])
    s3 = client_of(answer["config"])
    bucket, key = split(answer["metadata-location"])

    def code(operation: str, **parameters: Any) -> str:
        with pytest.raises(ClientError) as refused:
            getattr(s3, operation)(**parameters)
        return str(refused.value.response["Error"]["Code"])

    assert code("get_object", Bucket=bucket, Key=f"{key}x") == "AccessDenied"
    assert code("get_object", Bucket="other", Key=key) == "AccessDenied"
    assert code("get_object", Bucket=bucket, Key=key, Range="bytes=99999999-") == "InvalidRange"
    assert code("get_object", Bucket=bucket, Key=key, IfMatch='"other"') == "PreconditionFailed"
    assert code("get_object", Bucket=bucket, Key=key, VersionId="1") == "AccessDenied"
    assert code("head_object", Bucket=bucket, Key=f"{key}x") == "403"
    assert code("list_objects_v2", Bucket=bucket) == "AccessDenied"
    assert code("list_objects_v2", Bucket=bucket, Prefix=key) == "AccessDenied"
    assert code("put_object", Bucket=bucket, Key=key, Body=b"x") == "AccessDenied"
    assert code("delete_object", Bucket=bucket, Key=key) == "AccessDenied"
    assert code("create_multipart_upload", Bucket=bucket, Key=key) == "AccessDenied"
    assert code("head_bucket", Bucket=bucket) == "403"
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def test_a_key_opens_its_table_only(readers: ReaderGateway) -> None:
    plain, other = loaded(readers, TABLES["plain"]), loaded(readers, TABLES["history"])
    bucket, key = split(plain["metadata-location"])
    with pytest.raises(ClientError, match="AccessDenied"):
        client_of(other["config"]).get_object(Bucket=bucket, Key=key)
