"""An object is served if its path proves it, and the recipient of the key can read the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from starlette.routing import Route
from support.gateways.memory_client import send
from support.gateways.memory_gateway import (
    KEYS,
    PUBLIC_URL,
    MemoryGateway,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_grants import ACME, RIVAL, record
from support.gateways.memory_instances import LAKE
from support.gateways.parts import gateway_parts
from support.process.clock import Clock

from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api import Principal, SharedTable
from sluicegate.audit.trail import Trail, in_trail
from sluicegate.config import Settings
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.http.concurrency_limit import ConcurrencyLimit
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.protocols.iceberg_rest.assembly import lazy_files, store_route
from sluicegate.protocols.iceberg_rest.fair_limiter import FairLimiter
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_files import (
    GeneratedFileEndpoint,
    GeneratedFiles,
)
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.sign import RequestSigner
from sluicegate.protocols.iceberg_rest.file_access.table_files import TableFiles
from sluicegate.protocols.iceberg_rest.store.endpoint import StoreEndpoint
from sluicegate.protocols.iceberg_rest.store.keys import IssuedKey, StoreKeys
from sluicegate.protocols.iceberg_rest.store.reader import FileReader
from sluicegate.protocols.iceberg_rest.view import IcebergView

CONTENT = b"0123456789"
ORDERS = shared_table()


@dataclass
class Store:
    """The store of a gateway in memory, with one data file."""

    gateway: MemoryGateway
    removed: str = ""  # what a proxy removes from the start of paths

    def __post_init__(self) -> None:
        settings = Settings.model_validate({"public_url": PUBLIC_URL})
        self.files = lazy_files(gateway_parts(self.gateway, settings))
        self.routes = [store_route(self.files.get)]

    def path(self, name: str = "a b.parquet") -> str:
        """The key of a file in the clients' bucket."""
        source = self.gateway.catalog["orders"]
        [path] = FilePaths(KEYS, 86_400).of_view(ACME, ORDERS, source, 0).of([name])
        return path.removeprefix("s3://SG/")

    async def get(
        self,
        path: str | None = None,
        method: str = "GET",
        key: IssuedKey | None = None,
        query: str = "",
        limit: ConcurrencyLimit | None = None,
        **headers: str,
    ) -> httpx.Response:
        """The response to a request that is signed as botocore does."""
        used = key or issued()
        quoted = quote(self.path() if path is None else path, safe="/~")
        url = f"{PUBLIC_URL}{self.removed}/iceberg-files/SG/{quoted}{query}"
        request = AWSRequest(method, url, headers={k.replace("_", "-"): v for k, v in headers.items()})
        credentials = Credentials(used.access_key_id, used.secret, used.token)
        S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
        sent = dict(request.headers.items())
        found = urlsplit(url)
        target = found.path.removeprefix(self.removed) + (f"?{found.query}" if found.query else "")
        return await send(self.routes, method, target, recipient=None, headers=sent, limit=limit)


def issued(principal: Principal = ACME, shared: SharedTable = ORDERS, **options: Any) -> IssuedKey:
    return StoreKeys(KEYS, 3600, **options).issue(principal, shared)


def code(response: httpx.Response) -> str:
    """The code of an error."""
    assert response.headers["content-type"] == "application/xml"
    return response.text.partition("<Code>")[2].partition("<")[0]


@pytest.fixture
async def store() -> Store:
    return await made(memory_gateway())


async def made(gateway: MemoryGateway) -> Store:
    await gateway.storage.put(f"{LAKE}/orders/a b.parquet", CONTENT)
    return Store(gateway)


@pytest.mark.parametrize(
    ("sent", "status", "body"),
    [
        ({}, 200, CONTENT),
        ({"range": "bytes=2-4"}, 206, b"234"),
        ({"range": "bytes=-3"}, 206, b"789"),
        ({"range": "bytes=8-99"}, 206, b"89"),
        ({"if_none_match": "*"}, 304, b""),
    ],
)
async def test_an_object_is_read(store: Store, sent: dict[str, Any], status: int, body: bytes) -> None:
    response = await store.get(**sent)
    assert (response.status_code, response.content) == (status, body)
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["etag"]
    if status == 206:
        assert response.headers["content-range"].endswith("/10")


@pytest.mark.parametrize(
    ("sent", "status", "expected"),
    [
        ({"range": "bytes=10-"}, 416, "InvalidRange"),
        ({"if_match": '"other"'}, 412, "PreconditionFailed"),
    ],
)
async def test_refusals_have_the_format_of_s3(
    store: Store, sent: dict[str, Any], status: int, expected: str
) -> None:
    response = await store.get(**sent)
    assert (response.status_code, code(response)) == (status, expected)


async def test_a_conditional_read_needs_the_same_file(store: Store) -> None:
    etag = (await store.get()).headers["etag"]
    assert (await store.get(if_match=etag)).status_code == 200
    assert (await store.get(if_none_match=etag)).status_code == 304


async def test_head_has_the_size_and_no_content(store: Store) -> None:
    response = await store.get(method="HEAD")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == "10"
    refused = await store.get("x", method="HEAD")
    assert (refused.status_code, refused.content) == (403, b"")


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
async def test_nothing_is_written(store: Store, method: str) -> None:
    response = await store.get(method=method)
    assert (response.status_code, code(response)) == (403, "AccessDenied")
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize(
    "query", ["?list-type=2", "?versionId=1", "?uploads", "?acl", "?partNumber=1", "?x-id=HeadObject"]
)
async def test_listings_and_subresources_are_refused(store: Store, query: str) -> None:
    assert code(await store.get(query=query)) == "AccessDenied"
    assert code(await store.get("", query=query)) == "AccessDenied"
    assert (await store.get(query="?x-id=GetObject")).status_code == 200


async def test_a_file_that_is_missing_in_the_storage(store: Store) -> None:
    response = await store.get(store.path("gone.parquet"))
    assert (response.status_code, code(response)) == (404, "NoSuchKey")
    assert "the table's provider must restore it" in response.text


@pytest.mark.parametrize("name", ["../visits/a.parquet", f"{LAKE}/visits/a.parquet", "x/../../a"])
async def test_a_file_outside_of_the_table_is_refused(store: Store, name: str) -> None:
    await store.gateway.storage.put(f"{LAKE}/visits/a.parquet", CONTENT)
    response = await store.get(store.path(name))
    assert (response.status_code, code(response)) == (400, "InvalidRequest")


async def test_requests_without_a_signature_are_refused(store: Store) -> None:
    for method in ("GET", "HEAD", "PUT"):
        response = await send(store.routes, method, "/iceberg-files/SG/x/y", recipient=None)
        assert response.status_code == 403
    for recipient in ("acme", None):
        response = await send(store.routes, "GET", "/iceberg-files/x", recipient=recipient)
        assert code(response) == "AccessDenied"
    assert "remote signing" in response.text


async def test_a_listing_says_that_a_file_is_missing(store: Store) -> None:
    response = await send(store.routes, "GET", "/iceberg-files/SG/~listing", recipient=None)
    assert (response.status_code, code(response)) == (404, "NoSuchKey")
    assert "a file of the table does not exist" in response.text


async def test_keys_of_others_open_nothing(store: Store) -> None:
    assert code(await store.get(key=issued(RIVAL))) == "AccessDenied"
    assert code(await store.get(key=issued(shared=shared_table("visits")))) == "AccessDenied"
    foreign = replace(issued(), access_key_id="AKIAIOSFODNN7EXAMPLE")
    assert code(await store.get(key=foreign)) == "InvalidAccessKeyId"
    assert code(await store.get(key=replace(issued(), secret="other"))) == "SignatureDoesNotMatch"
    stolen = replace(issued(), token=issued(RIVAL).token)
    assert code(await store.get(key=stolen)) == "InvalidAccessKeyId"


async def test_an_expired_key_opens_nothing(store: Store) -> None:
    response = await store.get(key=issued(clock=Clock(1_700_000_000)))
    assert (response.status_code, code(response)) == (400, "ExpiredToken")


async def test_a_key_ends_with_its_recipient(store: Store) -> None:
    key, grants = issued(), store.gateway.grants
    assert (await store.get(key=key)).status_code == 200
    for changed in (
        record(ACME, revoked_at=1),
        record(replace(ACME, id="again")),
        record(ACME, allow_from=(ip_network("10.0.0.0/8"),)),
        record(ACME, last_revoked_at=key.expires_at),
    ):
        grants.recipients["acme"] = changed
        assert (await store.get(key=key)).status_code == 403
    del grants.recipients["acme"]
    assert code(await store.get(key=key)) == "AccessDenied"


@pytest.mark.parametrize("changed", [{"access_modes": ("dir",)}, {"partition_filter": "day = 'a'"}])
async def test_a_key_opens_what_is_shared_now(store: Store, changed: dict[str, Any]) -> None:
    limited = await made(memory_gateway(shared_table(**changed)))
    assert code(await limited.get(store.path())) == "AccessDenied"


async def test_a_created_table_has_other_paths(store: Store) -> None:
    path = store.path()
    store.gateway.catalog["orders"] = replace(store.gateway.catalog["orders"], id="created-again")
    assert code(await store.get(path)) == "AccessDenied"


async def test_reads_of_a_minute_are_one_entry_of_the_ledger(store: Store) -> None:
    key = issued()
    for _ in range(5):
        await store.get(key=key, range="bytes=0-1")
    await store.get(method="HEAD", key=key)
    entries = {entry.id: entry for entry in store.gateway.ledger.noted}
    [entry] = entries.values()
    assert (entry.kind, entry.files) == ("urls", 2)


async def test_repeated_reads_are_covered_by_the_first_record(store: Store) -> None:
    async def repeats(**options: Any) -> bool:
        with in_trail(trail := Trail()):
            await store.get(**options)
        return trail.repeats

    key = issued()
    assert [await repeats(key=key) for _ in range(3)] == [False, True, True]
    assert not await repeats(key=key, method="HEAD")
    assert not await repeats(key=key, range="bytes=99-")  # refused, so it is recorded
    assert not await repeats(key=issued(clock=Clock(issued().expires_at / 1000 - 3000)))


async def test_too_many_streams_are_slowed_down(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from sluicegate.protocols.iceberg_rest.store import reader

    none = FairLimiter(0, 1, 0.01, "too many")
    monkeypatch.setattr(reader, "FairLimiter", lambda *_: none)
    response = await (await made(memory_gateway())).get()
    assert (response.status_code, code(response)) == (503, "SlowDown")
    assert response.headers["retry-after"]
    assert none.recipients == 0


async def test_turns_are_returned(store: Store) -> None:
    for _ in range(100):
        assert (await store.get()).status_code == 200


async def test_rates_and_quotas_apply(store: Store) -> None:
    settings = RecipientLimitSettings.model_validate({"requests_per_minute": 1, "burst": 2})
    limit = ConcurrencyLimit(ConcurrencyLimits(), gate=RecipientLimiter(settings))
    answers = [await store.get(limit=limit) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 503]
    assert code(answers[-1]) == "SlowDown"


async def test_a_proxy_can_remove_the_start_of_the_path(store: Store) -> None:
    gateway, public = store.gateway, f"{PUBLIC_URL}/base/iceberg-files"
    links = GeneratedLinks(KEYS, PUBLIC_URL, 3600)
    signer = RequestSigner(FilePaths(KEYS, 86_400), gateway.signer, links, public)
    generated = GeneratedFileEndpoint(KEYS, gateway.grants, gateway.resolver, _no_view, _no_files())
    reader = FileReader(signer, generated, TableFiles(gateway.instances))
    parts = (gateway.grants, gateway.vending, gateway.resolver, reader, public)
    endpoint = StoreEndpoint(StoreKeys(KEYS, 3600), *parts)
    proxied = Store(gateway, "/base")
    proxied.routes = [Route("/iceberg-files/{path:path}", endpoint)]
    assert (await proxied.get()).content == CONTENT
    proxied.routes = store.routes
    assert code(await proxied.get()) == "SignatureDoesNotMatch"


async def _no_view(*_: Any) -> IcebergView:
    raise AssertionError


def _no_files() -> GeneratedFiles:
    async def generate(view: IcebergView, name: str) -> bytes:
        raise AssertionError

    return GeneratedFiles(generate)
