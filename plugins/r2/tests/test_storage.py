from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import boto3
import httpx
import obstore
import pytest
from botocore.config import Config

from sluicegate.api import (
    ObjectDirectory,
    TemporaryCredentials,
)
from sluicegate_r2.config import R2Config
from sluicegate_r2.storage import R2Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import SeaweedFS

Connected = Callable[..., R2Storage]

HOST = "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
LAKE = f"r2://lake@{HOST}"
KEYS = [
    "tables/plain/part-0.parquet",
    "tables/date=2024-01-01/a b+c.parquet",
    "tables/per%20cent/100%.parquet",
    "tables/hash#question?amp&.parquet",
    "tables/ünïcode/日本語/😀.parquet",
    'tables/$,:;=@/[]{}|^`"<>.parquet',
]
NEW_CENTURY = 4_102_444_800_000


def offline(prefix: str = f"{LAKE}/sales", **settings: Any) -> R2Storage:
    keys = {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "hush"}
    config = R2Config.model_validate({"prefix": prefix, **keys, **settings})
    return R2Storage.configured(config, FakeContext())


def given(secret: dict[str, str], **changes: Any) -> TemporaryCredentials:
    fields: dict[str, Any] = {"kind": "r2", "expires_at": NEW_CENTURY, **changes}
    return TemporaryCredentials(f"{LAKE}/", secret=secret, **fields)


async def fetch(url: str) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.get(url)


async def names_in(directory: ObjectDirectory) -> set[str]:
    listing = obstore.list(directory.store, prefix=directory.prefix or None)
    return {item["path"] async for batch in listing for item in batch}


@pytest.fixture(scope="module")
def lake(server: SeaweedFS) -> SeaweedFS:
    for key in KEYS:
        server.put(key, f"content of {key}".encode())
    return server


@pytest.mark.parametrize("jurisdiction", ["", ".eu", ".fedramp"])
@pytest.mark.parametrize("key", KEYS)
async def test_urls_equal_those_of_boto3_for_the_accounts_endpoint(
    monkeypatch: pytest.MonkeyPatch, jurisdiction: str, key: str
) -> None:
    host = HOST.replace(".r2.", f"{jurisdiction}.r2.")
    client = boto3.client(
        "s3",
        endpoint_url=f"https://{host}",
        region_name="auto",
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="hush",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )

    while True:  # both usually sign in the same second
        before = int(time.time())
        signed = await offline(f"r2://lake@{host}/").presign([f"r2://lake@{host}/{key}"], 900)
        expected = client.generate_presigned_url(
            "get_object", Params={"Bucket": "lake", "Key": key}, ExpiresIn=900
        )
        if int(time.time()) == before:
            break

    assert signed.urls == [expected]


async def test_signed_urls_read_their_objects(lake: SeaweedFS, connected: Connected) -> None:
    signed = await connected().presign([f"{LAKE}/{key}" for key in KEYS], 600)

    for key, url in zip(KEYS, signed.urls, strict=True):
        assert (await fetch(url)).content == f"content of {key}".encode()
        assert (await fetch(url.replace("Expires=600", "Expires=6000"))).status_code == 403


@pytest.mark.parametrize("directory", ["", "/date=2024-01-01", "/per%20cent/", "/ünïcode/日本語"])
async def test_an_opened_directory_is_listed_and_read(
    lake: SeaweedFS, connected: Connected, directory: str
) -> None:
    opened = await connected().open(f"{LAKE}/tables{directory}")

    expected = {key for key in KEYS if key.startswith(f"tables{directory}")}
    assert await names_in(opened) == expected
    for key in expected:
        read = await obstore.get_async(opened.store, key)
        assert bytes(await read.bytes_async()) == f"content of {key}".encode()


async def test_given_credentials_read_and_sign_and_their_end_is_the_urls_end(
    lake: SeaweedFS, connected: Connected
) -> None:
    soon = int(time.time() + 100) * 1000
    who = lake.signer
    secret = {"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key}
    nobody = connected(
        access_key_id=lake.nobody.access_key_id, secret_access_key=lake.nobody.secret_access_key
    )

    opened = await nobody.open(f"{LAKE}/tables", given(secret))
    signed = await nobody.presign([f"{LAKE}/{KEYS[0]}"], 600, given(secret, expires_at=soon))

    assert await names_in(opened) == set(KEYS)
    assert signed.expires_at == soon
    assert (await fetch(signed.urls[0])).status_code == 200
