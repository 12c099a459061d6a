from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import anyio
import httpx
import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from sluicegate.api import (
    ObjectDirectory,
    ObjectRequest,
    StorageError,
    TemporaryCredentials,
    url_label,
)
from sluicegate_s3.access import Access
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, CredentialSource, fresh_credentials
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS

KEYS = [
    "listed/plain/part-0.parquet",
    "listed/date=2024-01-01/a b+c.parquet",
    "listed/per%20cent/100%.parquet",
    "listed/hash#question?amp&.parquet",
    "listed/ünïcode/日本語/😀.parquet",
    "listed/tilde~/!*'().parquet",
    'listed/$,:;=@/[]{}|^`"<>.parquet',
]
AWS = S3Config(prefix="s3://lake/sales", region="eu-west-1")
NEW_CENTURY = 4_102_444_800_000


class Fixed(CredentialSource):
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def load(self) -> Credentials:
        return self._credentials


def offline(config: S3Config = AWS, *, session_ends: int | None = None, now: float = 0) -> S3Storage:
    credentials = Credentials("AKIAEXAMPLE", "hush", "token", session_ends)
    return S3Storage(config, fresh_credentials(Fixed(credentials), lambda: now), lambda: now)


def connected(server: SeaweedFS, identity: Identity | None = None, **settings: Any) -> S3Storage:
    who = identity or server.signer
    config = S3Config.model_validate(
        {
            "prefix": f"s3://{server.bucket}/",
            "endpoint": server.endpoint,
            "access_key_id": who.access_key_id,
            "secret_access_key": who.secret_access_key,
            **settings,
        }
    )
    return S3Storage(config, Access.configured(config).reading)


def assuming_the_role(server: SeaweedFS) -> S3Storage:
    return connected(server, role_arn=server.role_arn, sts_endpoint=server.endpoint)


async def fetch(url: str, method: str = "GET", **headers: str) -> httpx.Response:
    body = b"mine now" if method == "PUT" else None
    async with httpx.AsyncClient() as client:
        return await client.request(method, url, content=body, headers=headers)


@pytest.fixture(scope="module")
def lake(server: SeaweedFS) -> SeaweedFS:
    for key in KEYS:
        server.put(key, f"content of {key}".encode())
    return server


async def names_in(directory: ObjectDirectory) -> set[str]:
    listing = obstore.list(directory.store, prefix=directory.prefix or None)
    return {item["path"] async for batch in listing for item in batch}


@pytest.mark.parametrize("storage", [connected, assuming_the_role])
async def test_presigned_urls_read_their_objects(
    lake: SeaweedFS, storage: Callable[[SeaweedFS], S3Storage]
) -> None:
    signed = await storage(lake).presign([f"s3://{lake.bucket}/{key}" for key in KEYS], 600)

    for key, url in zip(KEYS, signed.urls, strict=True):
        assert (await fetch(url)).content == f"content of {key}".encode()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_store_accepts_a_label_only_as_it_was_signed(
    lake: SeaweedFS, method: Literal["GET", "HEAD"]
) -> None:
    request = ObjectRequest(method, label=url_label(str(uuid4())))
    locations = [f"s3://{lake.bucket}/{key}" for key in KEYS]
    signed = await connected(lake, label_urls=True).presign_request(request, locations, 600)

    for url in signed.urls:
        assert f"&x-offer={request.label}&" in url
        assert (await fetch(url, method)).status_code == 200
        for other in ("", f"&x-offer={url_label(str(uuid4()))}"):
            forged = url.replace(f"&x-offer={request.label}", other)
            assert (await fetch(forged, method)).status_code == 403


async def test_urls_have_a_label_only_if_it_is_configured(lake: SeaweedFS) -> None:
    request = ObjectRequest(label=url_label(str(uuid4())))
    signed = await connected(lake).presign_request(request, [f"s3://{lake.bucket}/{KEYS[0]}"], 600)

    assert "x-offer" not in signed.urls[0]
    assert (await fetch(signed.urls[0])).status_code == 200


async def test_a_range_of_an_object_can_be_read(lake: SeaweedFS) -> None:
    signed = await connected(lake).presign([f"s3://{lake.bucket}/{KEYS[0]}"], 600)

    answer = await fetch(signed.urls[0], Range="bytes=0-6")
    assert (answer.status_code, answer.content) == (206, b"content")


@pytest.mark.parametrize(
    ("change", "method"),
    [
        (lambda url: url, "PUT"),
        (lambda url: url, "DELETE"),
        (lambda url: url.replace("part-0", "part-1"), "GET"),
        (lambda url: url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000"), "GET"),
        (lambda url: url[:-1] + ("0" if url[-1] != "0" else "1"), "GET"),
        (lambda url: url.partition("?")[0], "GET"),
    ],
)
async def test_any_other_use_of_a_presigned_url_is_refused(
    lake: SeaweedFS, change: Callable[[str], str], method: str
) -> None:
    signed = await connected(lake).presign([f"s3://{lake.bucket}/{KEYS[0]}"], 600)

    assert (await fetch(signed.urls[0])).status_code == 200
    assert (await fetch(change(signed.urls[0]), method)).status_code == 403


async def test_an_expired_url_is_refused(lake: SeaweedFS) -> None:
    signed = await connected(lake).presign([f"s3://{lake.bucket}/{KEYS[0]}"], 1)

    await anyio.sleep(signed.expires_at / 1000 - time.time() + 1.5)

    assert (await fetch(signed.urls[0])).status_code == 403


@pytest.mark.slow
async def test_urls_die_with_the_session_that_signed_them_and_say_so(tmp_path: Path) -> None:
    with SeaweedFS.start(tmp_path, session_seconds=6) as server:
        server.put("a", b"a")
        storage = assuming_the_role(server)
        signed = await storage.presign([f"s3://{server.bucket}/a"], 3600)

        assert signed.expires_at <= (time.time() + 6) * 1000
        assert (await fetch(signed.urls[0])).status_code == 200

        await anyio.sleep(signed.expires_at / 1000 - time.time() + 1.5)
        assert (await fetch(signed.urls[0])).status_code == 403

        renewed = await storage.presign([f"s3://{server.bucket}/a"], 3600)
        assert (await fetch(renewed.urls[0])).status_code == 200


@pytest.mark.parametrize(
    ("wanted", "session_seconds", "lives"),
    [
        (3600, None, 3600),
        (700_000, None, 604_800),
        (3600, 1800.0, 1800),
        (3600, 1800.9, 1800),
        (900, 1800.0, 900),
        (1, 1.0, 1),
    ],
)
async def test_urls_live_no_longer_than_their_signature_and_session(
    wanted: int, session_seconds: float | None, lives: int
) -> None:
    now = 1_767_225_600
    end = None if session_seconds is None else int((now + session_seconds) * 1000)

    signed = await offline(session_ends=end, now=now + 0.25).presign(["s3://lake/sales/a"], wanted)

    query = parse_qs(urlsplit(signed.urls[0]).query)
    assert query["X-Amz-Expires"] == [str(lives)]
    assert query["X-Amz-Date"] == ["20260101T000000Z"]
    assert signed.expires_at == (now + lives) * 1000


async def test_a_session_that_has_ended_signs_nothing() -> None:
    with pytest.raises(StorageError):
        await offline(session_ends=1_000_999, now=1000).presign(["s3://lake/sales/a"], 60)


@pytest.mark.parametrize("storage", [connected, assuming_the_role])
@pytest.mark.parametrize("directory", ["", "/date=2024-01-01", "/per%20cent/", "/ünïcode/日本語"])
async def test_an_opened_directory_is_listed_and_read(
    lake: SeaweedFS, storage: Callable[[SeaweedFS], S3Storage], directory: str
) -> None:
    opened = await storage(lake).open(f"s3a://{lake.bucket}/listed{directory}")

    expected = {key for key in KEYS if key.startswith(f"listed{directory}")}
    assert await names_in(opened) == expected
    for key in expected:
        name = key.removeprefix(opened.prefix).removeprefix("/")
        read = await obstore.get_async(opened.store, opened.key(name))
        assert bytes(await read.bytes_async()) == f"content of {key}".encode()


async def test_only_the_configuration_says_how_a_store_is_read(
    lake: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of something else")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    storage = connected(lake)

    own = await storage.open(f"s3://{lake.bucket}/listed")
    given = await storage.open(f"s3://{lake.bucket}/listed", vended(lake.signer))

    assert await names_in(own) == set(KEYS)
    assert await names_in(given) == set(KEYS)


async def test_recipients_get_the_public_endpoint_and_the_gateway_reads_by_its_own() -> None:
    config = S3Config(
        prefix="s3://lake/sales", endpoint="http://store:9000", public_endpoint="https://files.example"
    )

    signed = await offline(config).presign(["s3://lake/sales/a"], 60)
    opened = await offline(config).open("s3://lake/sales")

    assert signed.urls[0].startswith("https://files.example/lake/sales/a?")
    assert isinstance(opened.store, S3Store)
    assert opened.store.config["endpoint"] == "http://store:9000"


def vended(identity: Identity, **more: str) -> TemporaryCredentials:
    secret = {
        "access_key_id": identity.access_key_id,
        "secret_access_key": identity.secret_access_key,
        **more,
    }
    return TemporaryCredentials("s3://lake/", "aws", secret, NEW_CENTURY)


async def test_given_credentials_are_the_ones_that_read(lake: SeaweedFS) -> None:
    nobodys = connected(lake, lake.nobody)
    own = await nobodys.open(f"s3://{lake.bucket}/listed")
    given = await nobodys.open(f"s3://{lake.bucket}/listed", vended(lake.signer))

    assert await names_in(given) == set(KEYS)
    with pytest.raises(BaseError, match="403"):
        await names_in(own)


async def test_given_credentials_sign_and_their_end_is_the_urls_end(
    lake: SeaweedFS,
) -> None:
    soon = int(time.time() + 100) * 1000
    nobodys = connected(lake, lake.nobody)
    signed = await nobodys.presign(
        [f"s3://{lake.bucket}/{KEYS[0]}"], 600, replace(vended(lake.signer), expires_at=soon)
    )

    assert signed.expires_at == soon
    async with httpx.AsyncClient() as client:
        assert (await client.get(signed.urls[0])).status_code == 200


async def test_a_given_session_token_is_used(lake: SeaweedFS) -> None:
    role = assuming_the_role(lake)
    session = await role._credentials.get()
    identity = Identity("session", session.access_key_id, session.secret_access_key)
    given = vended(identity, session_token=session.session_token or "")

    opened = await connected(lake, lake.nobody).open(f"s3://{lake.bucket}/listed", given)

    assert await names_in(opened) == set(KEYS)


async def test_without_credentials_nothing_is_signed_or_opened(no_ambient_credentials: Path) -> None:
    storage = S3Storage(AWS, Access.configured(AWS).reading)

    with pytest.raises(StorageError):
        await storage.presign(["s3://lake/sales/a"], 60)
    with pytest.raises(StorageError):
        await storage.open("s3://lake/sales/a")


@pytest.mark.slow
@pytest.mark.parametrize("listening", [True, False])
async def test_a_dead_store_is_an_error_soon(server: SeaweedFS, listening: bool) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        if listening:  # connections are accepted, but get no response
            dead.listen()
        storage = connected(server, endpoint=f"http://127.0.0.1:{dead.getsockname()[1]}")
        opened = await storage.open(f"s3://{server.bucket}/table")

        with anyio.fail_after(15), pytest.raises(BaseError):
            await names_in(opened)
