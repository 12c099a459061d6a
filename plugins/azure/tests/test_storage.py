from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import obstore
import pytest
from obstore.exceptions import BaseError

from sluicegate.api import (
    ObjectDirectory,
    PermissionDenied,
    StorageError,
    TemporaryCredentials,
)
from sluicegate_azure.access import Access
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import SigningKey
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.servers.azurite import Azurite

Connect = Callable[..., AzureStorage]

NAMES = [
    "tables/plain/part-0.parquet",
    "tables/date=2024-01-01/a b+c.parquet",
    "tables/per%20cent/100%.parquet",
    "tables/hash#question?amp&.parquet",
    "tables/ünïcode/日本語/😀.parquet",
    "tables/tilde~/!*'().parquet",
    'tables/$,:;=@/[]{}|^`"<>.parquet',
]
LAKE = "abfss://lake@acmelake.dfs.core.windows.net/"
SALES = AzureConfig(prefix=f"{LAKE}sales")
NOW = 1_767_225_600
FIRST = f"{LAKE}sales/a"


class Offline(Access):
    """A key that expires, without credentials for reading."""

    def __init__(self, ends: int | None) -> None:
        self._key = SigningKey(b"hush", None, ends)

    async def credential(self) -> object:  # type: ignore[override]
        raise StorageError("there is no store")

    async def signing_key(self) -> SigningKey:
        return self._key


def offline(
    config: AzureConfig = SALES, *, key_ends: int | None = None, now: float = NOW
) -> AzureStorage:
    return AzureStorage(config, Offline(key_ends), lambda: now)


def given(token: str, expires_at: int | None = None) -> TemporaryCredentials:
    return TemporaryCredentials(LAKE, "azure", {"sas_token": token}, expires_at)


@pytest.fixture(scope="module")
def lake(server: Azurite) -> Azurite:
    for name in NAMES:
        server.put(name, f"content of {name}".encode())
    return server


async def fetch(server: Azurite, url: str, method: str = "GET", **headers: str) -> httpx.Response:
    trust = ssl.create_default_context(cafile=server.certificate)
    body = b"mine now" if method == "PUT" else None
    async with httpx.AsyncClient(verify=trust) as client:
        return await client.request(method, url, content=body, headers=headers)


async def names_in(directory: ObjectDirectory) -> set[str]:
    listing = obstore.list(directory.store, prefix=directory.prefix or None)
    return {item["path"] async for batch in listing for item in batch}


async def test_presigned_urls_read_their_blobs(lake: Azurite, connect: Connect) -> None:
    signed = await connect().presign([f"{lake.prefix}{name}" for name in NAMES], 600)

    for name, url in zip(NAMES, signed.urls, strict=True):
        assert (await fetch(lake, url)).content == f"content of {name}".encode()


async def test_a_range_of_a_blob_can_be_read(lake: Azurite, connect: Connect) -> None:
    signed = await connect().presign([f"{lake.prefix}{NAMES[0]}"], 600)

    answer = await fetch(lake, signed.urls[0], Range="bytes=0-6")
    assert (answer.status_code, answer.content) == (206, b"content")


def _later(url: str) -> str:
    return re.sub(r"se=\d{4}", "se=2199", url)


def _another_signature(url: str) -> str:
    return url.replace("sig=", "sig=A" if "sig=A" not in url else "sig=B", 1)


@pytest.mark.parametrize(
    ("change", "method"),
    [
        (lambda url: url, "PUT"),
        (lambda url: url, "DELETE"),
        (lambda url: url.replace("part-0", "part-1"), "GET"),
        (lambda url: url.replace("sp=r&", "sp=rl&"), "GET"),
        (lambda url: url.replace("sr=b", "sr=c"), "GET"),
        (_later, "GET"),
        (_another_signature, "GET"),
        (lambda url: url.partition("?")[0], "GET"),
    ],
)
async def test_any_other_use_of_a_presigned_url_is_refused(
    lake: Azurite, connect: Connect, change: Callable[[str], str], method: str
) -> None:
    signed = await connect().presign([f"{lake.prefix}{NAMES[0]}"], 600)
    changed = change(signed.urls[0])
    headers = {"x-ms-blob-type": "BlockBlob"} if method == "PUT" else {}

    assert (await fetch(lake, signed.urls[0])).status_code == 200
    assert method != "GET" or changed != signed.urls[0]
    # Without a signature, Azure returns that the blob doesn't exist.
    refusals = (403,) if "sig=" in changed else (403, 404)
    assert (await fetch(lake, changed, method, **headers)).status_code in refusals


async def test_an_expired_url_is_refused(lake: Azurite, connect: Connect) -> None:
    signed = await connect().presign([f"{lake.prefix}{NAMES[0]}"], 1)

    await anyio.sleep(signed.expires_at / 1000 - time.time() + 1.5)

    assert (await fetch(lake, signed.urls[0])).status_code == 403


async def test_urls_end_with_the_delegation_key_that_signed_them(
    lake: Azurite, by_identity: Connect
) -> None:
    storage = by_identity(delegation_key_lifetime=3600)

    signed = await storage.presign([f"{lake.prefix}{NAMES[0]}"], 86_400)

    query = parse_qs(urlsplit(signed.urls[0]).query)
    assert query["se"] == query["ske"]
    assert signed.expires_at <= (time.time() + 3600) * 1000


@pytest.mark.parametrize(
    ("wanted", "key_seconds", "lives"),
    [
        (3600, None, 3600),
        (700_000, None, 604_800),
        (3600, 1800.0, 1800),
        (3600, 1800.9, 1800),
        (900, 1800.0, 900),
        (1, 1.0, 1),
    ],
)
async def test_urls_live_no_longer_than_their_key(
    wanted: int, key_seconds: float | None, lives: int
) -> None:
    ends = None if key_seconds is None else int((NOW + key_seconds) * 1000)

    signed = await offline(key_ends=ends, now=NOW + 0.25).presign([FIRST], wanted)

    expiry = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + lives))
    assert parse_qs(urlsplit(signed.urls[0]).query)["se"] == [expiry]
    assert signed.expires_at == (NOW + lives) * 1000


async def test_a_key_that_has_ended_signs_nothing() -> None:
    with pytest.raises(StorageError):
        await offline(key_ends=NOW * 1000 + 999).presign([FIRST], 60)


@pytest.mark.parametrize("directory", ["", "/date=2024-01-01", "/per%20cent/", "/ünïcode/日本語"])
async def test_an_opened_directory_is_listed_and_read(
    lake: Azurite, connect: Connect, directory: str
) -> None:
    opened = await connect().open(f"{lake.prefix}tables{directory}")

    expected = {name for name in NAMES if name.startswith(f"tables{directory}")}
    assert await names_in(opened) == expected
    for name in expected:
        key = opened.key(name.removeprefix(opened.prefix).removeprefix("/"))
        read = await obstore.get_async(opened.store, key)
        assert bytes(await read.bytes_async()) == f"content of {name}".encode()


async def test_only_the_configuration_says_how_a_store_is_read(
    lake: Azurite, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
    monkeypatch.setenv("AZURE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=of&sig=something+else")
    monkeypatch.setenv("AZURE_CONTAINER_NAME", "other")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "other")

    opened = await connect().open(f"{lake.prefix}tables")

    assert await names_in(opened) == set(NAMES)


async def test_recipients_get_the_public_endpoint() -> None:
    config = AzureConfig(prefix=f"{LAKE}sales", public_endpoint="https://files.example/lake-account")

    signed = await offline(config).presign([FIRST], 60)

    assert signed.urls[0].startswith("https://files.example/lake-account/lake/sales/a?")


async def test_urls_for_https_are_refused_without_it() -> None:
    plain = AzureConfig(prefix=f"{LAKE}sales", public_endpoint="http://127.0.0.1:10000/acmelake")

    (secure,) = (await offline().presign([FIRST], 60)).urls
    (insecure,) = (await offline(plain).presign([FIRST], 60)).urls

    assert "spr=https&" in secure
    assert "spr=" not in insecure


async def test_a_given_signature_reads(lake: Azurite, connect: Connect, by_key: Connect) -> None:
    signed = await connect().presign([f"{lake.prefix}{NAMES[0]}"], 60)
    token = signed.urls[0].partition("?")[2]

    urls = (await by_key().presign([f"{lake.prefix}{NAMES[0]}"], 600, given(f"?{token}"))).urls

    assert urls == signed.urls


@pytest.mark.parametrize(
    ("token_ends", "said", "lives"),
    [
        ("2026-01-01T01:00:00Z", None, 60),
        ("2026-01-01T00:00:30Z", None, 30),
        ("2026-01-01T00:00:30", (NOW + 50) * 1000, 30),
        ("2026-01-01T01:00:00Z", (NOW + 20) * 1000, 20),
        ("2026-01-02", None, 60),
    ],
)
async def test_urls_live_no_longer_than_a_given_signature(
    token_ends: str, said: int | None, lives: int
) -> None:
    credentials = given(f"se={token_ends}&sp=rl&sr=c&sig=hush", said)

    signed = await offline().presign([FIRST], 60, credentials)

    assert signed.expires_at == (NOW + lives) * 1000


@pytest.mark.parametrize("permissions", ["rw", "racwdl", "d", "rlx"])
async def test_a_given_signature_that_may_write_is_given_to_nobody(permissions: str) -> None:
    credentials = given(f"se=2027-01-01T00:00:00Z&sp={permissions}&sr=c&sig=hush")

    with pytest.raises(PermissionDenied) as refused:
        await offline().presign([FIRST], 60, credentials)

    assert "hush" not in f"{refused.value} {refused.value.detail}"


@pytest.mark.slow
@pytest.mark.parametrize("listening", [True, False])
async def test_a_dead_store_is_an_error_soon(by_key: Connect, server: Azurite, listening: bool) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        if listening:  # connections are accepted, but get no response
            dead.listen()
        storage = by_key(endpoint=f"http://127.0.0.1:{dead.getsockname()[1]}/{server.account}")
        opened = await storage.open(f"{server.prefix}table")

        with anyio.fail_after(15), pytest.raises(BaseError):
            await names_in(opened)
