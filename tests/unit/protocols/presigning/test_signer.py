"""Which storage and which credentials sign URLs, and which paths get none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from support.gateways.memory_gateway import (
    KEYS,
    PUBLIC_URL,
    MemoryGateway,
    catalog_table,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_instances import EXPIRES, LAKE, SigningStorage, url_of

from sluicegate.api import (
    ObjectRequest,
    PathSigner,
    Presigned,
    SignedPaths,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.derived_files import DerivedLink, DerivedLinks
from sluicegate.protocols.presigning.signer import IssuedUrls, Signer
from sluicegate.tables.derived_files import DerivedFile

ROOT = f"{LAKE}/orders"
BOTH: dict[str, Any] = {"access_modes": ("url", "dir")}
FILTERED = {"partition_filter": "country = 'DE'"}
SESSION = TemporaryCredentials(ROOT, "aws", {"access_key_id": "x"}, 1)
CLONES = f"{LAKE}/clones"
LIFETIME = 1234


@pytest.fixture
def other() -> SigningStorage:
    return SigningStorage("memory://pond/", EXPIRES - 1)


@pytest.fixture
def gateway(other: SigningStorage) -> MemoryGateway:
    source = catalog_table(auxiliary_locations=("memory://pond/orders",))
    return memory_gateway(sources=[source], absolute_paths=(f"{CLONES}/",), more_storage=[other])


def signer(gateway: MemoryGateway) -> Signer:
    derived = DerivedLinks(KEYS, PUBLIC_URL)
    return Signer(gateway.instances, gateway.vending, derived, LIFETIME)


async def opened(
    gateway: MemoryGateway, vended: TemporaryCredentials | None = None, **shared: Any
) -> OpenTable:
    return replace(await gateway.open(shared_table(**shared)), credentials=vended)


async def test_relative_paths_are_signed_in_their_order(gateway: MemoryGateway) -> None:
    signed = await signer(gateway).presign(await opened(gateway), ["b", "d=1/a", "b"])
    locations = [f"{ROOT}/{path}" for path in ("b", "d=1/a", "b")]
    assert (signed.urls, signed.expires_at) == ([url_of(each) for each in locations], EXPIRES)
    assert gateway.storage.signed == [(locations, None)]
    assert gateway.storage.lifetimes == [LIFETIME]


async def test_a_location_that_ends_with_a_slash_is_joined_once(gateway: MemoryGateway) -> None:
    table = await opened(gateway)
    table = replace(table, source=replace(table.source, location=f"{ROOT}/"))
    assert (await signer(gateway).presign(table, ["a"])).urls == [url_of(f"{ROOT}/a")]


@pytest.mark.parametrize("vended", [None, SESSION])
async def test_absolute_paths_are_signed_by_the_storage_of_each(
    gateway: MemoryGateway, other: SigningStorage, vended: TemporaryCredentials | None
) -> None:
    elsewhere, clone, own = "memory://pond/orders/b", f"{CLONES}/c", f"{ROOT}/d"
    table = await opened(gateway, vended)
    signed = await signer(gateway).presign(table, [elsewhere, "a", clone, own])
    assert signed.urls == [url_of(each) for each in (elsewhere, f"{ROOT}/a", clone, own)]
    assert signed.expires_at == EXPIRES - 1  # the first that expires
    assert other.signed == [([elsewhere], None)]
    assert other.lifetimes == [LIFETIME]
    if vended is None:
        assert gateway.storage.signed == [([f"{ROOT}/a", clone, own], None)]
    else:  # the catalog vended for the table's root, not for directories elsewhere
        assert gateway.storage.signed == [([f"{ROOT}/a", own], vended), ([clone], None)]


@pytest.mark.parametrize(
    "path",
    [
        f"{LAKE}/orders2/a",
        f"{LAKE}/a",
        "memory://pond/a",
        "../customers/a",
        "x/../../customers/a",
        f"{ROOT}/../customers/a",
        f"{CLONES}/../customers/a",
        "file:///etc/passwd",
    ],
)
async def test_a_path_outside_of_the_table_is_not_signed(gateway: MemoryGateway, path: str) -> None:
    with pytest.raises(UnsupportedOperation, match="outside of its own directories"):
        await signer(gateway).presign(await opened(gateway), ["a", path])
    assert gateway.storage.signed == []


async def test_a_directory_of_the_table_that_no_storage_serves_is_named_in_the_log_only() -> None:
    source = catalog_table(auxiliary_locations=("memory://elsewhere/orders",))
    gateway = memory_gateway(sources=[source])
    with pytest.raises(UnsupportedOperation, match="outside the storage that this gateway") as caught:
        await signer(gateway).presign(await opened(gateway), ["memory://elsewhere/orders/a"])
    assert "elsewhere" not in caught.value.message
    assert "memory://elsewhere" in caught.value.for_operators


async def test_a_store_that_cannot_sign_is_an_error(gateway: MemoryGateway) -> None:
    gateway.storage.failure = StorageError("the store is down")
    with pytest.raises(StorageError):
        await signer(gateway).presign(await opened(gateway), ["a"])


@pytest.mark.parametrize(
    ("kind", "opens", "shared", "signs"),
    [
        ("aws", ROOT, {}, True),
        ("aws", LAKE, FILTERED, True),
        ("r2", ROOT, FILTERED, True),
        ("azure", ROOT, {}, False),
        ("azure", ROOT, FILTERED, False),
        ("azure", ROOT, {**BOTH, **FILTERED}, False),
        ("azure", ROOT, {**BOTH, "start_version": 3}, False),
        ("azure", ROOT, {**BOTH, "ref": "audit"}, False),
        ("azure", LAKE, BOTH, False),
        ("azure", ROOT, BOTH, True),
        ("gcp", ROOT, BOTH, False),
    ],
)
async def test_a_catalogs_token_is_in_a_url_only_for_who_may_have_the_directory(
    gateway: MemoryGateway,
    kind: Literal["aws", "azure", "gcp", "r2"],
    opens: str,
    shared: dict[str, Any],
    signs: bool,
) -> None:
    vended = TemporaryCredentials(opens, kind, {"sas_token": "sig=x"}, 1)
    await signer(gateway).presign(await opened(gateway, vended, **shared), ["a.parquet"])
    assert gateway.storage.signed == [([f"{ROOT}/a.parquet"], vended if signs else None)]


class HeadStorage(SigningStorage):
    """Signs only requests that are not a plain GET."""

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """URLs that end with the method."""
        signed = await self.presign(locations, expires_in, credentials)
        return Presigned([f"{url}?{request.method}" for url in signed.urls], signed.expires_at)


async def test_urls_are_for_the_request_that_a_client_sends() -> None:
    pond = HeadStorage("memory://pond/")
    source = catalog_table(auxiliary_locations=("memory://pond/orders",))
    gateway = memory_gateway(storage=HeadStorage(), sources=[source], more_storage=[pond])
    head, elsewhere = ObjectRequest("HEAD"), "memory://pond/orders/b"
    table = await opened(gateway, SESSION)
    one = await signer(gateway).presign_request(table, head, ["a"])
    both = await signer(gateway).presign_request(table, head, ["a", elsewhere])
    plain = await signer(gateway).presign_request(table, ObjectRequest(), ["a", elsewhere])
    urls = [url_of(f"{ROOT}/a"), url_of(elsewhere)]
    assert one.urls == [f"{urls[0]}?HEAD"]
    assert both.urls == [f"{url}?HEAD" for url in urls]
    assert plain.urls == urls
    assert [credentials for _, credentials in gateway.storage.signed] == [SESSION] * 3
    assert {*gateway.storage.lifetimes, *pond.lifetimes} == {LIFETIME}


class PathStorage(SigningStorage, PathSigner):
    """Signs encoded paths, and remembers the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[object, ...]] = []

    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """URLs whose signature is their number."""
        self.asked.append((request, directory, list(paths), expires_in, credentials))
        return SignedPaths("https://x/", "?s=", [*map(str, range(len(paths)))], EXPIRES)


@pytest.mark.parametrize("location", [ROOT, f"{ROOT}/"])
async def test_encoded_paths_are_signed_below_the_table(location: str) -> None:
    gateway = memory_gateway(storage=(storage := PathStorage()))
    table = await opened(gateway, SESSION)
    table = replace(table, source=replace(table.source, location=location))
    signed = await signer(gateway).sign_paths(table, [b"a%20b", b"c"], "label")
    assert signed is not None
    assert signed.urls([b"a%20b", b"c"]) == ["https://x/a%20b?s=0", "https://x/c?s=1"]
    request = ObjectRequest(label="label")
    assert storage.asked == [(request, f"{ROOT}/", [b"a%20b", b"c"], LIFETIME, SESSION)]


async def test_a_storage_need_not_sign_encoded_paths(gateway: MemoryGateway) -> None:
    assert await signer(gateway).sign_paths(await opened(gateway), [b"a"]) is None


async def test_a_storage_whose_urls_accept_every_request_has_one_kind(gateway: MemoryGateway) -> None:
    head = ObjectRequest("HEAD", {"x-amz-checksum-mode": "ENABLED"})
    signed = await signer(gateway).presign_request(await opened(gateway), head, ["a"])
    assert signed.urls == [url_of(f"{ROOT}/a")]


async def test_derived_files_have_links_of_the_gateway(gateway: MemoryGateway) -> None:
    table = await opened(gateway)
    files = [DerivedFile.of(content, "recipe") for content in (b"1", b"2")]
    signed = signer(gateway).presign_derived(table, files)
    assert all(f"&X-Amz-Expires={LIFETIME}&" in url for url in signed.urls)
    expected = [DerivedLink.of(table, file).path for file in files]
    assert [url.rpartition("/")[2].partition("?")[0] for url in signed.urls] == expected
    assert gateway.storage.signed == []


async def test_the_record_is_about_the_table_and_its_recipient(gateway: MemoryGateway) -> None:
    table = await opened(gateway)
    signer(gateway).record(table).add(2, EXPIRES)
    (entry,) = gateway.ledger.noted
    assert (entry.recipient, entry.table_id, entry.locations) == ("acme", "t-orders", (ROOT,))
    assert (entry.files, entry.expires_at) == (2, EXPIRES)


async def test_urls_that_are_sent_again_are_recorded_with_the_time_of_their_signatures(
    gateway: MemoryGateway,
) -> None:
    table = await opened(gateway)
    signer(gateway).record_again(table, IssuedUrls(2, EXPIRES - 1, EXPIRES, personal=False), 77)
    (entry,) = gateway.ledger.noted
    assert (entry.files, entry.expires_at, entry.issued_at) == (2, EXPIRES, 77)
    assert entry.given_at > 77
    assert gateway.storage.signed == []


async def test_without_urls_nothing_is_recorded_again(gateway: MemoryGateway) -> None:
    table = await opened(gateway)
    signer(gateway).record_again(table, IssuedUrls(0, None, None, personal=False), 77)
    assert gateway.ledger.noted == []
