"""A request for a file of the view gets a URL; everything else is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from support.gateways.memory_gateway import (
    KEYS,
    PUBLIC_URL,
    MemoryGateway,
    catalog_table,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_grants import ACME, RIVAL
from support.gateways.memory_instances import EXPIRES, LAKE, SigningStorage, url_of
from support.process.clock import Clock
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api import (
    ObjectRequest,
    PermissionDenied,
    Presigned,
    TemporaryCredentials,
    UnsupportedOperation,
    url_label,
)
from sluicegate.api.errors import RateLimited
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_links import (
    MANIFEST_LIST,
    GeneratedLink,
    GeneratedLinks,
    manifest_name,
    vectors_name,
)
from sluicegate.protocols.iceberg_rest.file_access.sign import (
    RecentRecords,
    RequestSigner,
    SignedFiles,
    SignedRequest,
)
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint
from sluicegate_testing.fakes import MemoryStorage

NOW = EXPIRES // 1000 - 3600
ENDPOINT = store_endpoint(PUBLIC_URL)


class MethodStorage(SigningStorage):
    """Its URLs are for one kind of request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ObjectRequest] = []

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Records the request."""
        self.requests.append(request)
        return await self.presign(locations, expires_in, credentials)


@pytest.fixture
def storage() -> MethodStorage:
    return MethodStorage()


@pytest.fixture
def gateway(storage: MethodStorage) -> MemoryGateway:
    return memory_gateway(storage=storage, absolute_paths=(f"{LAKE}/clones/",))


def signer(gateway: MemoryGateway, now: float = NOW) -> RequestSigner:
    paths, links = FilePaths(KEYS, 86_400, Clock(now)), GeneratedLinks(KEYS, PUBLIC_URL, 3600)
    return RequestSigner(paths, gateway.signer, links, ENDPOINT, Clock(now))


def path_of(table: OpenTable, path: str) -> str:
    view = FilePaths(KEYS, 86_400, Clock(NOW)).of_view(table.principal, table.shared, table.source, 7)
    return view.of([path])[0]


def request_of(path: str, method: str = "GET", **values: Any) -> dict[str, Any]:
    uri = f"{ENDPOINT}/{quote(path.removeprefix('s3://'), safe='/~')}"
    return {"region": "us-east-1", "uri": uri, "method": method, "headers": {}, **values}


async def sign(gateway: MemoryGateway, path: str, method: str = "GET", **values: Any) -> SignedRequest:
    table = await gateway.open(shared_table())
    body = request_of(path_of(table, path), method, **values)
    return await signer(gateway).sign(table, body)


async def test_a_file_of_the_table_gets_a_url(gateway: MemoryGateway, storage: MethodStorage) -> None:
    signed = await sign(gateway, "date=1/a b%.parquet")
    assert signed == SignedRequest(url_of(f"{LAKE}/orders/date=1/a b%.parquet"), reusable=True)
    assert [(each.method, each.headers) for each in storage.requests] == [("GET", {})]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_url_is_for_the_method_and_headers(
    gateway: MemoryGateway, storage: MethodStorage, method: str
) -> None:
    headers = {"x-amz-checksum-mode": ["ENABLED"], "Range": ["bytes=0-3"]}
    await sign(gateway, "a", method, headers=headers)
    (sent,) = storage.requests
    assert (sent.method, sent.headers) == (method, {"x-amz-checksum-mode": "ENABLED"})


async def test_a_head_is_signed_as_one(gateway: MemoryGateway, storage: MethodStorage) -> None:
    await sign(gateway, f"{LAKE}/clones/a", "HEAD")
    assert [(each.method, each.headers) for each in storage.requests] == [("HEAD", {})]
    assert storage.signed == [([f"{LAKE}/clones/a"], None)]


async def test_urls_of_the_same_minute_have_the_label_of_their_ledger_entry(
    gateway: MemoryGateway, storage: MethodStorage
) -> None:
    table = await gateway.open(shared_table())
    signing = signer(gateway)
    for path, method in (("a", "GET"), ("b", "GET"), ("b", "HEAD")):
        await signing.sign(table, request_of(path_of(table, path), method))
    (entry,) = {each.id for each in gateway.ledger.noted}
    assert [each.label for each in storage.requests] == [url_label(entry)] * 3


@pytest.mark.parametrize("path", [f"{LAKE}/customers/a", "../customers/a", "x/../../customers/a"])
async def test_a_location_that_the_table_may_not_use_is_refused(
    gateway: MemoryGateway, storage: MethodStorage, path: str
) -> None:
    with pytest.raises(UnsupportedOperation, match="outside of its own directories"):
        await sign(gateway, path)
    assert storage.signed == []


@pytest.mark.parametrize("name", [MANIFEST_LIST, manifest_name(0), manifest_name(12), vectors_name(3)])
async def test_a_generated_file_gets_a_link_of_the_gateway(
    gateway: MemoryGateway, storage: MethodStorage, name: str
) -> None:
    signed = await sign(gateway, name)
    assert signed.uri.startswith(f"{PUBLIC_URL}/content/~iceberg/")
    link = GeneratedLink.parse(unquote(urlsplit(signed.uri).path).rpartition("/")[2])
    assert (link.recipient_id, link.table_id, link.version, link.name) == ("r1", "t-orders", 7, name)
    assert link.issued_at == NOW - NOW % 8640
    assert storage.signed == []
    assert len(gateway.ledger.noted) == 1


@pytest.mark.parametrize("path", ["~/part.parquet", "~/manifest-01.avro", "~/manifest-1.avro/x"])
async def test_other_files_of_a_directory_of_that_name_are_the_tables(
    gateway: MemoryGateway, path: str
) -> None:
    signed = await sign(gateway, path)
    assert signed.uri == url_of(f"{LAKE}/orders/{path}")


async def test_forged_and_stolen_paths_are_refused(
    gateway: MemoryGateway, storage: MethodStorage
) -> None:
    table = await gateway.open(shared_table())
    path = path_of(table, "a.parquet")
    proof = path.removeprefix("s3://SG/").rpartition("/")[0]
    senders = [
        replace(table, principal=RIVAL),
        replace(table, shared=shared_table("customers")),
        replace(table, shared=shared_table(partition_filter="c = 'x'")),
        replace(table, source=catalog_table(id="other")),
    ]
    for sender in senders:
        with pytest.raises(PermissionDenied):
            await signer(gateway).sign(sender, request_of(path))
    for forged in (
        f"s3://SG/{proof}/b.parquet",
        f"s3://SG/{proof}/",
        f"s3://SG/{proof}",
        "s3://SG/a.parquet",
        f"s3://SG/x/../{proof}/a.parquet",
        f"s3://SG/{proof}/x/../a.parquet",
        f"s3://SG/{proof}/%61.parquet",
        f"s3://SG//{proof}/a.parquet",
        f"s3://SG/{proof}//a.parquet",
        f"s3://lake/{proof}/a.parquet",
    ):
        with pytest.raises(PermissionDenied):
            await signer(gateway).sign(table, request_of(forged))
    with pytest.raises(PermissionDenied, match="expired"):
        await signer(gateway, NOW + 86_400).sign(table, request_of(path))
    for method in ("PUT", "POST", "DELETE"):
        with pytest.raises(PermissionDenied):
            await signer(gateway).sign(table, request_of(path, method))
    assert storage.signed == []
    assert gateway.ledger.noted == []


async def test_no_byte_of_a_request_can_be_changed(gateway: MemoryGateway) -> None:
    table = await gateway.open(shared_table())
    body = request_of(path_of(table, "d=1/a b.parquet"))
    uri = body["uri"]
    expected = (await signer(gateway).sign(table, body)).uri
    signing = signer(gateway)
    for at in range(len(uri)):
        for other in "/.%?#&=-_~A0aZ\\ \n":
            changed = uri[:at] + other + uri[at + 1 :]
            if changed == uri:
                continue
            try:
                signed = await signing.sign(table, {**body, "uri": changed})
            except PermissionDenied:
                continue
            assert signed.uri == expected  # another form of the same request


@pytest.mark.parametrize(
    ("left", "cache_control"), [(60, "private"), (59, "private, no-store"), (3600, "private")]
)
async def test_a_response_is_used_again_only_if_its_url_outlives_that(
    gateway: MemoryGateway, left: int, cache_control: str
) -> None:
    table = await gateway.open(shared_table())
    signed = await signer(gateway, EXPIRES // 1000 - left).sign(table, request_of(path_of(table, "a")))
    response = signed.response()
    assert response.headers["cache-control"] == cache_control
    assert response.body == b'{"uri":"%b","headers":{}}' % signed.uri.encode()


async def test_signatures_of_a_minute_are_one_entry_of_the_ledger(gateway: MemoryGateway) -> None:
    table = await gateway.open(shared_table())
    clock = Clock(NOW - NOW % 60)
    paths, links = FilePaths(KEYS, 86_400, clock), GeneratedLinks(KEYS, PUBLIC_URL, 3600)
    signing = RequestSigner(paths, gateway.signer, links, ENDPOINT, clock)
    body = request_of(path_of(table, "a"))
    for _ in range(3):
        await signing.sign(table, body)
    clock.advance(59)
    await signing.sign(table, body)
    assert {entry.id for entry in gateway.ledger.noted} == {gateway.ledger.noted[0].id}
    assert [entry.files for entry in gateway.ledger.noted] == [1, 2, 3, 4]
    assert [event.attributes["files"] for event in gateway.events] == [1, 1, 1, 1]
    clock.advance(1)
    await signing.sign(table, body)
    elsewhere = replace(table, principal=replace(table.principal, address="192.0.2.9"))
    await signing.sign(elsewhere, body)
    assert [entry.files for entry in gateway.ledger.noted[4:]] == [1, 1]
    assert len({entry.id for entry in gateway.ledger.noted}) == 3
    assert gateway.ledger.noted[5].address == "192.0.2.9"


async def test_a_listing_gets_an_address_that_says_that_a_file_is_missing(
    gateway: MemoryGateway, storage: MethodStorage
) -> None:
    """s3fs lists the files below a path that was not found."""
    table = await gateway.open(shared_table())
    uri = f"{ENDPOINT}/SG?list-type=2&prefix=7-1000-proof%2Fpart.parquet%2F&delimiter=%2F"
    body = {"region": "us-east-1", "uri": uri, "method": "GET", "headers": {}}
    signed = await signer(gateway).sign(table, body)
    assert (signed.uri, signed.reusable) == (f"{ENDPOINT}/SG/~listing", False)
    assert storage.requests == []


async def test_a_record_is_of_one_recipient_table_and_minute() -> None:
    gateway = memory_gateway()
    table = await gateway.open(shared_table())
    clock = Clock(120)
    records = RecentRecords(gateway.signer.record, clock)
    first = records.of(table)
    assert records.of(replace(table)) is first
    others = [
        replace(table, principal=RIVAL),
        replace(table, principal=replace(table.principal, address=None)),
        replace(table, shared=shared_table("customers")),
        replace(table, shared=replace(table.shared, share_id="s2")),
        replace(table, source=catalog_table(location="memory://lake/moved")),
    ]
    assert len({id(records.of(each)) for each in (table, *others)}) == 6
    clock.advance(59)
    assert records.of(table) is first
    clock.advance(1)
    later = records.of(table)
    assert later is not first
    assert later.entry.id != first.entry.id


ROWS = [file(name, size=size) for name, size in (("a", 100), ("b", 20), ("c", 3))]


class Signing:
    """Signs requests of a recipient with limits."""

    def __init__(self, **limits: Any) -> None:
        self.gateway: MemoryGateway = memory_gateway(format=MemoryFormat([snapshot(*ROWS)]))
        self.limiter = RecipientLimiter(RecipientLimitSettings.model_validate(limits))
        self.gateway.vending.limiter = self.limiter
        self._paths = FilePaths(KEYS, 86_400)
        signer = self.gateway.signer
        self._signer = RequestSigner(
            self._paths,
            signer,
            GeneratedLinks(KEYS, PUBLIC_URL, 3600),
            ENDPOINT,
            files=SignedFiles(signer, self.gateway.reader),
        )

    async def sign(self, path: str, method: str = "GET") -> None:
        """Request a signature."""
        table = await self.gateway.open(shared_table())
        view = self._paths.of_view(table.principal, table.shared, table.source, 0)
        uri = f"{ENDPOINT}/{view.of([path])[0].removeprefix('s3://')}"
        await self._signer.sign(table, {"region": "r", "uri": uri, "method": method, "headers": {}})

    @property
    def offered(self) -> tuple[int, int]:
        """Files and bytes."""
        used = self.limiter.use.of(ACME.id, self.limiter.today)
        return used.files, used.bytes


async def test_ranges_of_a_file_count_once() -> None:
    signing = Signing(files_per_day=10)
    for path in ("a", "a", "b", "a"):
        await signing.sign(path)
    await asyncio.gather(*(signing.sign("c") for _ in range(5)))
    assert signing.offered == (3, 123)


@pytest.mark.parametrize("limits", [{"files_per_day": 2}, {"bytes_per_day": 120}])
async def test_a_file_beyond_the_quota_is_refused_and_others_stay_readable(
    limits: dict[str, int],
) -> None:
    signing = Signing(**limits)
    await signing.sign("a")
    await signing.sign("b")
    for _ in range(2):
        with pytest.raises(RateLimited):
            await signing.sign("c")
    await signing.sign("a")
    assert signing.offered == (2, 120)


async def test_only_reading_data_files_counts() -> None:
    signing = Signing(files_per_day=1)
    await signing.sign(MANIFEST_LIST)
    await signing.sign("_delta_log/vectors.bin")
    assert signing.offered == (0, 0)


@pytest.mark.parametrize(("binds_method", "offered"), [(True, (0, 0)), (False, (1, 100))])
async def test_a_signature_for_head_counts_unless_it_is_valid_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, binds_method: bool, offered: tuple[int, int]
) -> None:
    monkeypatch.setattr(MemoryStorage, "binds_method", binds_method)
    signing = Signing(files_per_day=1)
    await signing.sign("a", "HEAD")
    assert signing.offered == offered


async def test_no_snapshot_is_read_for_recipients_without_a_quota() -> None:
    signing = Signing(requests_per_minute=1)
    await signing.sign("a")
    assert signing.gateway.format.read == []
