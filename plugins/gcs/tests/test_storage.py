from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import GCSStore

from sluicegate.api import (
    ObjectDirectory,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage
from sluicegate_testing.servers.google.fake_gcs import FakeGCS

Connected = Callable[..., GCSStorage]

KEYS = [
    "tables/plain/part-0.parquet",
    "tables/plain/part-1.parquet",
    "tables/date=2024-01-01/a b+c.parquet",
    "tables/per%20cent/100%.parquet",
    "tables/hash#question?amp&.parquet",
    "tables/ünïcode/日本語/😀.parquet",
    "tables/tilde~/!*'().parquet",
    'tables/$,:;=@/[]{}|^`"<>.parquet',
]
NEW_CENTURY = 4_102_444_800_000
NOW = 1_767_225_600


def offline(now: float = NOW, **settings: Any) -> GCSStorage:
    config = GCSConfig.model_validate(
        {
            "prefix": "gs://lake/sales",
            "hmac_access_id": "GOOG1E",
            "hmac_secret": "hush",
            **settings,
        }
    )
    return GCSStorage(config, lambda: now)


def given(token: str, **changes: Any) -> TemporaryCredentials:
    fields: dict[str, Any] = {
        "location": "gs://lake/",
        "kind": "gcp",
        "secret": {"oauth_token": token},
        "expires_at": NEW_CENTURY,
        **changes,
    }
    return TemporaryCredentials(**fields)


async def fetch(url: str, method: str = "GET", **headers: str) -> httpx.Response:
    body = b"mine now" if method == "PUT" else None
    async with httpx.AsyncClient() as client:
        return await client.request(method, url, content=body, headers=headers)


async def names_in(directory: ObjectDirectory) -> set[str]:
    listing = obstore.list(directory.store, prefix=directory.prefix or None)
    return {item["path"] async for batch in listing for item in batch}


@pytest.fixture
def lake(server: FakeGCS) -> FakeGCS:
    for key in KEYS:
        server.put(key, f"content of {key}".encode())
    return server


@pytest.fixture(params=["key", "hmac", "iam"])
def storage(
    request: pytest.FixtureRequest,
    lake: FakeGCS,
    connected: Connected,
    default_credentials: Callable[..., None],
) -> GCSStorage:
    """Return a storage for each of the three signing methods."""
    if request.param == "key":
        return connected()
    if request.param == "hmac":
        return connected(hmac_access_id=lake.hmac_access_id, hmac_secret=lake.hmac_secret)
    default_credentials()
    return connected(service_account_key=None, service_account_email=lake.email)


async def test_signed_urls_read_their_objects(lake: FakeGCS, storage: GCSStorage) -> None:
    signed = await storage.presign([f"gs://{lake.bucket}/{key}" for key in KEYS], 600)

    for key, url in zip(KEYS, signed.urls, strict=True):
        assert (await fetch(url)).content == f"content of {key}".encode()


async def test_a_range_of_an_object_can_be_read(lake: FakeGCS, storage: GCSStorage) -> None:
    signed = await storage.presign([f"gs://{lake.bucket}/{KEYS[0]}"], 600)

    answer = await fetch(signed.urls[0], Range="bytes=0-6")

    assert (answer.status_code, answer.content) == (206, b"content")


@pytest.mark.parametrize(
    ("change", "method"),
    [
        (lambda url: url, "PUT"),
        (lambda url: url, "DELETE"),
        (lambda url: url.replace("part-0", "part-1"), "GET"),
        (lambda url: url.replace("X-Goog-Expires=600", "X-Goog-Expires=6000"), "GET"),
        (lambda url: url[:-1] + ("0" if url[-1] != "0" else "1"), "GET"),
        (lambda url: url + "&generation=1", "GET"),
        (lambda url: url.partition("?")[0], "GET"),
    ],
)
async def test_any_other_use_of_a_signed_url_is_refused(
    lake: FakeGCS, storage: GCSStorage, change: Callable[[str], str], method: str
) -> None:
    signed = await storage.presign([f"gs://{lake.bucket}/{KEYS[0]}"], 600)

    assert (await fetch(signed.urls[0])).status_code == 200
    assert (await fetch(change(signed.urls[0]), method)).status_code == 403


async def test_an_expired_url_is_refused(lake: FakeGCS, connected: Connected) -> None:
    signed = await connected().presign([f"gs://{lake.bucket}/{KEYS[0]}"], 1)

    await anyio.sleep(signed.expires_at / 1000 - time.time() + 0.5)

    assert (await fetch(signed.urls[0])).status_code == 403


@pytest.mark.parametrize(
    ("wanted", "lives"), [(1, 1), (3600, 3600), (604_800, 604_800), (700_000, 604_800)]
)
async def test_urls_live_as_long_as_requested_but_seven_days_at_most(wanted: int, lives: int) -> None:
    signed = await offline(now=NOW + 0.25).presign(["gs://lake/sales/a"], wanted)

    query = parse_qs(urlsplit(signed.urls[0]).query)
    assert query["X-Goog-Expires"] == [str(lives)]
    assert query["X-Goog-Date"] == ["20260101T000000Z"]
    assert signed.expires_at == (NOW + lives) * 1000


async def test_urls_that_google_signs_live_for_twelve_hours_at_most(
    lake: FakeGCS, connected: Connected, default_credentials: Callable[..., None]
) -> None:
    default_credentials()
    storage = connected(service_account_key=None, service_account_email=lake.email)

    signed = await storage.presign([f"gs://{lake.bucket}/{KEYS[0]}"], 604_800)

    assert parse_qs(urlsplit(signed.urls[0]).query)["X-Goog-Expires"] == ["43200"]
    assert signed.expires_at <= (time.time() + 43_200) * 1000


@pytest.mark.parametrize("directory", ["", "/date=2024-01-01", "/per%20cent/", "/ünïcode/日本語"])
async def test_an_opened_directory_is_listed_and_read(
    lake: FakeGCS, storage: GCSStorage, directory: str
) -> None:
    opened = await storage.open(f"gcs://{lake.bucket}/tables{directory}")

    expected = {key for key in KEYS if key.startswith(f"tables{directory}")}
    assert await names_in(opened) == expected
    for key in expected:
        name = key.removeprefix(opened.prefix).removeprefix("/")
        read = await obstore.get_async(opened.store, opened.key(name))
        assert bytes(await read.bytes_async()) == f"content of {key}".encode()


async def test_only_the_configuration_says_how_a_store_is_read(
    lake: FakeGCS, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "of something else")
    monkeypatch.setenv("GOOGLE_BUCKET", "other")

    opened = await connected().open(f"gs://{lake.bucket}/tables")

    assert await names_in(opened) == set(KEYS)


async def test_recipients_get_the_public_endpoint_and_the_gateway_reads_by_its_own(
    server: FakeGCS, connected: Connected
) -> None:
    storage = connected(public_endpoint="https://files.example")

    signed = await storage.presign([f"gs://{server.bucket}/a"], 60)
    opened = await storage.open(f"gs://{server.bucket}/a")

    assert signed.urls[0].startswith(f"https://files.example/{server.bucket}/a?")
    assert isinstance(opened.store, GCSStore)
    assert opened.store.config["base_url"] == server.endpoint


async def test_a_given_token_reads(lake: FakeGCS, connected: Connected) -> None:
    storage = connected()
    location = f"gs://{lake.bucket}/tables"
    good = await storage.open(location, given(lake.apis.subject_token()))
    bad = await storage.open(location, given("ya29.unknown"))

    assert await names_in(good) == set(KEYS)
    with pytest.raises(BaseError, match="403"):
        await names_in(bad)
    assert lake.apis.requests == []


async def test_a_given_token_cannot_sign() -> None:
    with pytest.raises(UnsupportedOperation, match="'dir' access"):
        await offline().presign(["gs://lake/sales/a"], 60, given("ya29.hush"))
