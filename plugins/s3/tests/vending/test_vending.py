from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import boto3
import deltalake
import httpx
import obstore
import pyarrow as pa
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from obstore.exceptions import BaseError
from obstore.store import S3Store

from sluicegate.api import PermissionDenied, Principal, Scope, TemporaryCredentials
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS
from sluicegate_testing.vending import check_end

ACME = Principal("r-1", "acme", "test")
INSIDE = "tables/sales/_delta_log/0.json"
OUTSIDE = ("tables/sale", "tables/salesroom/part", "tables/other/part", "root")
FOREIGN_BUCKET = "pond"

Refused = Callable[[Any, str], object]


@pytest.fixture(scope="module")
def lake(server: SeaweedFS) -> SeaweedFS:
    for key in (INSIDE, "tables/sales/ünïcode/a b$.parquet", *OUTSIDE):
        server.put(key, f"content of {key}".encode())
    client_of(server, server.admin).create_bucket(Bucket=FOREIGN_BUCKET)
    client_of(server, server.admin).put_object(Bucket=FOREIGN_BUCKET, Key=INSIDE, Body=b"foreign")
    return server


def storage_of(server: SeaweedFS, *, prefix: str = "", **vending: Any) -> S3Storage:
    config = S3Config.model_validate(
        {
            "prefix": f"s3://{server.bucket}/{prefix}",
            "endpoint": server.endpoint,
            "sts_endpoint": server.endpoint,
            "access_key_id": server.signer.access_key_id,
            "secret_access_key": server.signer.secret_access_key,
            "vending": {"role_arn": server.role_arn, **vending},
        }
    )
    return S3Storage.configured(config, FakeContext())


def scope_of(server: SeaweedFS, *directories: str, lifetime: int = 3600, **more: Any) -> Scope:
    locations = tuple(f"s3://{server.bucket}/{each}" for each in directories)
    return Scope(locations, lifetime, more.pop("principal", ACME), **more)


def key_of(who: Identity) -> dict[str, str]:
    return {"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key}


def client_of(server: SeaweedFS, who: Identity | TemporaryCredentials) -> Any:
    secret = who.secret if isinstance(who, TemporaryCredentials) else key_of(who)
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=server.region,
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        **{f"aws_{name}": value for name, value in secret.items()},
    )


def store_of(server: SeaweedFS, vended: TemporaryCredentials) -> S3Store:
    secret = vended.secret
    return S3Store(
        server.bucket,
        endpoint=server.endpoint,
        region=vended.connection["region"],
        access_key_id=secret["access_key_id"],
        secret_access_key=secret["secret_access_key"],
        session_token=secret["session_token"],
        virtual_hosted_style_request=vended.connection["path_style"] != "true",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


@pytest.fixture
async def vended(lake: SeaweedFS) -> TemporaryCredentials:
    return await storage_of(lake).vend(scope_of(lake, "tables/sales"))


@pytest.fixture
def s3(lake: SeaweedFS, vended: TemporaryCredentials) -> Any:
    return client_of(lake, vended)


def test_vended_credentials_get_the_tables_objects(s3: Any, lake: SeaweedFS) -> None:
    for key in (INSIDE, "tables/sales/ünïcode/a b$.parquet"):
        read = s3.get_object(Bucket=lake.bucket, Key=key)["Body"].read()
        assert read == f"content of {key}".encode()
        assert s3.head_object(Bucket=lake.bucket, Key=key)["ContentLength"] == len(read)


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("tables/sales/", {INSIDE, "tables/sales/ünïcode/a b$.parquet"}),
        ("tables/sales/_delta_log/", {INSIDE}),
        ("tables/sales/_delta_log/1", set()),
    ],
)
def test_vended_credentials_list_the_table(
    s3: Any, lake: SeaweedFS, prefix: str, found: set[str]
) -> None:
    listed = s3.list_objects_v2(Bucket=lake.bucket, Prefix=prefix)

    assert {item["Key"] for item in listed.get("Contents", ())} == found


def test_obstore_lists_and_reads_the_table(lake: SeaweedFS, vended: TemporaryCredentials) -> None:
    store = store_of(lake, vended)

    found = {item["path"] for batch in obstore.list(store, prefix="tables/sales") for item in batch}

    assert found == {INSIDE, "tables/sales/ünïcode/a b$.parquet"}
    assert bytes(obstore.get(store, INSIDE).bytes()) == f"content of {INSIDE}".encode()


@pytest.mark.parametrize("missing", ["tables/sales", "tables/sales/no/such"])
def test_what_is_not_there_is_missing_and_not_forbidden(s3: Any, lake: SeaweedFS, missing: str) -> None:
    """Hadoop checks whether a directory is a file, and treats any status other than 404 as an error."""
    with pytest.raises(ClientError) as refused:
        s3.head_object(Bucket=lake.bucket, Key=missing)

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


@pytest.mark.parametrize(
    "use",
    [
        *(lambda s3, bucket, key=key: s3.get_object(Bucket=bucket, Key=key) for key in OUTSIDE),
        lambda s3, bucket: s3.head_object(Bucket=bucket, Key="tables/salesroom/part"),
        lambda s3, bucket: s3.list_objects_v2(Bucket=bucket),
        *(
            lambda s3, bucket, prefix=prefix: s3.list_objects_v2(Bucket=bucket, Prefix=prefix)
            for prefix in ("", "tables/", "tables/sale", "tables/sales", "tables/salesroom/")
        ),
        lambda s3, bucket: s3.list_objects_v2(Bucket=bucket, Prefix="tables/sales", Delimiter="/"),
        lambda s3, bucket: s3.list_objects(Bucket=bucket, Prefix="tables/sales"),
        lambda s3, bucket: s3.list_object_versions(Bucket=bucket, Prefix="tables/sales/"),
        lambda s3, bucket: s3.get_object(Bucket=FOREIGN_BUCKET, Key=INSIDE),
        lambda s3, bucket: s3.list_objects_v2(Bucket=FOREIGN_BUCKET, Prefix="tables/sales/"),
        lambda s3, bucket: s3.put_object(Bucket=bucket, Key="tables/sales/new", Body=b""),
        lambda s3, bucket: s3.put_object(Bucket=bucket, Key=INSIDE, Body=b""),
        lambda s3, bucket: s3.delete_object(Bucket=bucket, Key=INSIDE),
        lambda s3, bucket: s3.create_multipart_upload(Bucket=bucket, Key=INSIDE),
        lambda s3, bucket: s3.put_object_tagging(Bucket=bucket, Key=INSIDE, Tagging={"TagSet": []}),
    ],
)
def test_anything_else_is_refused(s3: Any, lake: SeaweedFS, use: Refused) -> None:
    with pytest.raises(ClientError) as refused:
        use(s3, lake.bucket)

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


async def test_several_directories_fit_in_one_session(lake: SeaweedFS) -> None:
    scope = scope_of(lake, "tables/sales", "tables/other", "tables/sales/_delta_log")

    s3 = client_of(lake, await storage_of(lake).vend(scope))

    for key in (INSIDE, "tables/other/part"):
        assert s3.get_object(Bucket=lake.bucket, Key=key)["ContentLength"] > 0
    with pytest.raises(ClientError):
        s3.get_object(Bucket=lake.bucket, Key="tables/salesroom/part")


@pytest.mark.slow
async def test_credentials_and_what_they_signed_die_at_their_expiry(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path, session_seconds=6) as server:
        server.put(INSIDE, b"content")
        storage = storage_of(server)
        vended = await storage.vend(scope_of(server, "tables/sales"))
        assert vended.expires_at is not None
        assert vended.expires_at <= (time.time() + 6) * 1000
        signed = await storage.presign([f"s3://{server.bucket}/{INSIDE}"], 3600, vended)
        assert signed.expires_at <= vended.expires_at

        async with httpx.AsyncClient() as client:
            assert (await client.get(signed.urls[0])).content == b"content"
            await anyio.sleep(vended.expires_at / 1000 - time.time() + 1.5)
            assert (await client.get(signed.urls[0])).status_code == 403
        with pytest.raises(BaseError):
            obstore.get(store_of(server, vended), INSIDE)


@pytest.mark.parametrize(
    ("key", "method", "status"),
    [
        (INSIDE, "GET", 200),
        (INSIDE, "PUT", 403),
        (INSIDE, "DELETE", 403),
        *((key, "GET", 403) for key in OUTSIDE),
    ],
)
async def test_urls_signed_with_vended_credentials_open_no_more(
    lake: SeaweedFS, vended: TemporaryCredentials, key: str, method: str, status: int
) -> None:
    signed = await storage_of(lake).presign([f"s3://{lake.bucket}/{key}"], 600, vended)

    async with httpx.AsyncClient() as client:
        assert (await client.request(method, signed.urls[0])).status_code == status


async def test_many_recipients_are_vended_to_at_once(lake: SeaweedFS) -> None:
    storage = storage_of(lake)
    given: list[TemporaryCredentials] = []

    async def vend(number: int) -> None:
        principal = Principal(f"r-{number}", f"recipient {number}", "test")
        given.append(await storage.vend(scope_of(lake, "tables/sales", principal=principal)))

    async with anyio.create_task_group() as tasks:
        for number in range(32):
            tasks.start_soon(vend, number)

    assert len({each.secret["session_token"] for each in given}) == 32


async def test_credentials_say_how_the_store_is_reached(
    lake: SeaweedFS, vended: TemporaryCredentials
) -> None:
    assert vended.location == f"s3://{lake.bucket}/tables/sales"
    assert vended.connection == {
        "region": "us-east-1",
        "endpoint": lake.endpoint,
        "path_style": "true",
        "role_arn": lake.role_arn,
    }


async def test_nothing_is_vended_for_what_lies_outside(lake: SeaweedFS) -> None:
    storage = storage_of(lake, prefix="tables")

    for outside in ("tablesroom/sales", "root", ""):
        assert not storage.vends(f"s3://{lake.bucket}/{outside}")
        with pytest.raises(PermissionDenied):
            await storage.vend(scope_of(lake, "tables/sales", outside))
    assert storage.vends(f"s3a://{lake.bucket}/tables/sales")


@pytest.mark.parametrize(("name", "sibling"), [("a*b", "aXb"), ("a?b", "aXb"), ("a${aws:x}b", "ab")])
async def test_a_name_with_wildcards_opens_no_other(lake: SeaweedFS, name: str, sibling: str) -> None:
    lake.put(f"odd/{sibling}/part", b"not shared")
    s3 = client_of(lake, await storage_of(lake).vend(scope_of(lake, f"odd/{name}")))

    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(Bucket=lake.bucket, Key=f"odd/{sibling}/part")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.list_objects_v2(Bucket=lake.bucket, Prefix=f"odd/{sibling}/")


def test_deltalake_reads_the_table_in_the_directory(lake: SeaweedFS) -> None:
    location = f"s3://{lake.bucket}/tables/delta"
    reach = {"endpoint": lake.endpoint, "region": lake.region, "allow_http": "true"}
    written = pa.table({"id": [1, 2, 3]})
    deltalake.write_deltalake(location, written, storage_options={**reach, **key_of(lake.admin)})

    given = anyio.run(storage_of(lake).vend, scope_of(lake, "tables/delta"))
    read = deltalake.DeltaTable(location, storage_options={**reach, **given.secret}).to_pyarrow_table()

    assert read.equals(written)


@pytest.mark.parametrize("options", [{"session_tags": {"who": "name"}}, {"source_identity": True}])
async def test_sessions_of_tagged_recipients_are_limited_alike(
    lake: SeaweedFS, options: dict[str, Any]
) -> None:
    s3 = client_of(lake, await storage_of(lake, **options).vend(scope_of(lake, "tables/sales")))

    assert s3.get_object(Bucket=lake.bucket, Key=INSIDE)["ContentLength"] > 0
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(Bucket=lake.bucket, Key="tables/salesroom/part")


async def test_credentials_are_in_no_text(lake: SeaweedFS, vended: TemporaryCredentials) -> None:
    secrets = {value for name, value in vended.secret.items() if name != "access_key_id"}

    assert not any(secret in f"{vended!r} {storage_of(lake)!r}" for secret in secrets)


async def test_the_store_refuses_sessions_that_have_ended(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path, session_seconds=3) as server:
        storage = storage_of(server)

        async def put(location: str, content: bytes) -> None:
            key = location.removeprefix(storage.prefix)
            await anyio.to_thread.run_sync(server.put, key, content)

        await check_end(storage, storage, put, seconds=3, wanted=900)
        await storage.aclose()
