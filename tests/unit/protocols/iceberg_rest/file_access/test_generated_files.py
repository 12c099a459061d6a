"""A link to a generated file is served while its recipient can read the table."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import cast

import httpx
import pytest
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
from support.process.clock import Clock

from sluicegate.api import NotFound, Principal, SharedTable
from sluicegate.http.concurrency_limit import ConcurrencyLimit, RequestSlots
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile
from sluicegate.protocols.iceberg_rest.file_access.generated_files import (
    GeneratedFileEndpoint,
    GeneratedFiles,
)
from sluicegate.protocols.iceberg_rest.file_access.generated_links import (
    MANIFEST_LIST,
    SPACE,
    GeneratedLinks,
    manifest_name,
)
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.keyring import KeyRing

CONTENT = b"0123456789"


@dataclass
class Views:
    """Stands in for the views of tables."""

    built: list[tuple[str, str, str | None, int, int]] = field(default_factory=list)
    generated: list[str] = field(default_factory=list)

    async def view_at(
        self, principal: Principal, shared: SharedTable, version: int, issued_at: int
    ) -> IcebergView:
        """A view; generation does not look into it."""
        limits = shared.partition_filter
        self.built.append((principal.id, shared.id, limits, version, issued_at))
        return _view(CONTENT if limits is None else limits.encode())

    async def generate(self, view: IcebergView, name: str) -> bytes:
        """The content of the manifest list."""
        if name != MANIFEST_LIST:
            raise NotFound("the table's snapshot has no such file")
        self.generated.append(name)
        return cast("bytes", view)


def _view(content: bytes) -> IcebergView:
    return cast("IcebergView", content)


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


@pytest.fixture
def views() -> Views:
    return Views()


def link(name: str = MANIFEST_LIST, keys: KeyRing = KEYS, version: int = 7) -> str:
    file = ProvenFile(name, version, 1000)
    return GeneratedLinks(keys, PUBLIC_URL, 3600).sign(ACME, shared_table(), file).urls[0]


async def fetch(
    gateway: MemoryGateway,
    views: Views,
    url: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    files: GeneratedFiles | None = None,
    clock: Clock | None = None,
    limit: ConcurrencyLimit | None = None,
) -> httpx.Response:
    endpoint = GeneratedFileEndpoint(
        KEYS,
        gateway.grants,
        gateway.resolver,
        views.view_at,
        files or GeneratedFiles(views.generate),
        clock or Clock(1000),
    )
    route = Route(f"/content/{SPACE}/{{link}}", endpoint.fetch, methods=["GET", "HEAD"])
    return await send([route], method, url, recipient=None, headers=headers, limit=limit)


async def test_the_file_is_generated_and_sent(gateway: MemoryGateway, views: Views) -> None:
    response = await fetch(gateway, views, link())
    assert (response.status_code, response.content) == (200, CONTENT)
    assert response.headers["cache-control"] == "private, no-store"
    assert views.built == [("r1", "t-orders", None, 7, 1000)]


@pytest.mark.parametrize(
    ("method", "headers", "status", "body"),
    [
        ("GET", {"range": "bytes=2-4"}, 206, b"234"),
        ("GET", {"range": "bytes=-3"}, 206, b"789"),
        ("GET", {"range": "bytes=0-"}, 206, CONTENT),
        ("GET", {"range": "bytes=99-"}, 416, None),
        ("HEAD", {}, 200, b""),
        ("GET", {"if-match": '"other"'}, 412, None),
        ("POST", {}, 405, None),
    ],
)
async def test_ranges_and_preconditions(
    gateway: MemoryGateway,
    views: Views,
    method: str,
    headers: dict[str, str],
    status: int,
    body: bytes | None,
) -> None:
    response = await fetch(gateway, views, link(), method, headers)
    assert response.status_code == status
    assert body is None or response.content == body
    if method == "HEAD":
        assert response.headers["content-length"] == "10"


async def test_the_same_file_has_the_same_etag(gateway: MemoryGateway, views: Views) -> None:
    first, second = [await fetch(gateway, views, link()) for _ in range(2)]
    assert first.headers["etag"] == second.headers["etag"]
    known = {"if-none-match": first.headers["etag"]}
    assert (await fetch(gateway, views, link(), headers=known)).status_code == 304


async def test_ranges_of_a_file_are_generated_once(gateway: MemoryGateway, views: Views) -> None:
    files = GeneratedFiles(views.generate)
    read = [fetch(gateway, views, link(), files=files) for _ in range(4)]
    assert {each.content for each in await asyncio.gather(*read)} == {CONTENT}
    await fetch(gateway, views, link(), files=files)
    assert views.generated == [MANIFEST_LIST]
    await files.aclose()


async def test_a_cached_file_is_not_served_for_other_limits(
    gateway: MemoryGateway, views: Views
) -> None:
    files = GeneratedFiles(views.generate)
    assert (await fetch(gateway, views, link(), files=files)).content == CONTENT
    limited = memory_gateway(shared_table(partition_filter="c = 'x'"))
    assert (await fetch(limited, views, link(), files=files)).content == b"c = 'x'"
    gateway.catalog["orders"] = replace(gateway.catalog["orders"], id="created-again")
    await fetch(gateway, views, link(), files=files)
    assert len(views.built) == 3


async def test_a_file_that_the_view_does_not_have_is_not_found(
    gateway: MemoryGateway, views: Views
) -> None:
    assert (await fetch(gateway, views, link(manifest_name(9)))).status_code == 404


async def test_the_size_of_a_file_that_cannot_be_made_is_that_of_the_reason(
    gateway: MemoryGateway, views: Views
) -> None:
    """Readers look up the size first, by a request whose response has no body."""
    url = link(manifest_name(9))
    probe = await fetch(gateway, views, url, "HEAD")
    read = await fetch(gateway, views, url, headers={"range": "bytes=0-4"})
    reason = "<Message>the table's snapshot has no such file</Message>"
    assert (probe.status_code, read.status_code) == (200, 404)
    assert reason in read.text
    assert probe.headers["content-length"] == str(len(read.content))


async def test_forged_and_expired_links_are_denied(gateway: MemoryGateway, views: Views) -> None:
    url = link()
    other = link(manifest_name(0)).partition("?")[0] + "?" + url.partition("?")[2]
    for forged in (
        other,
        url[:-1] + ("0" if url[-1] != "0" else "1"),
        link(keys=KeyRing((b"n" * 32,))),
    ):
        assert (await fetch(gateway, views, forged)).status_code == 403
    assert (await fetch(gateway, views, url, clock=Clock(10_000_000_000))).status_code == 403
    assert views.built == []


async def test_a_link_ends_with_its_recipient(gateway: MemoryGateway, views: Views) -> None:
    for changed in (record(ACME, revoked_at=1), record(RIVAL, name="acme")):
        gateway.grants.recipients["acme"] = changed
        assert (await fetch(gateway, views, link())).status_code == 403
    assert views.built == []


async def test_a_link_ends_with_the_grant_and_the_table(views: Views) -> None:
    without = memory_gateway(shared_table("customers"))
    assert (await fetch(without, views, link())).status_code == 404
    again = memory_gateway(replace(shared_table(), id="created-again"))
    assert (await fetch(again, views, link())).status_code == 404
    assert views.built == []


async def test_a_version_that_is_no_longer_shared_is_refused(views: Views) -> None:
    later = memory_gateway(shared_table(start_version=8))
    response = await fetch(later, views, link())
    assert (response.status_code, views.built) == (400, [])


async def test_reading_a_link_counts_as_a_request_in_progress(
    gateway: MemoryGateway, views: Views
) -> None:
    limit = ConcurrencyLimit(ConcurrencyLimits(max_requests=1))
    other = RequestSlots(limit, "192.0.2.9")
    await other.enter(None)
    fetched = asyncio.create_task(fetch(gateway, views, link(), limit=limit))
    await asyncio.sleep(0.01)
    assert (fetched.done(), views.built) == (False, [])
    other.leave()
    assert (await fetched).content == CONTENT


async def test_files_are_generated_a_few_at_a_time(gateway: MemoryGateway, views: Views) -> None:
    files = GeneratedFiles(views.generate, at_once=1, timeout=0.01)
    going = asyncio.Event()

    async def slow() -> IcebergView:
        await going.wait()
        return _view(CONTENT)

    first = asyncio.create_task(files.get("r2", "a", MANIFEST_LIST, slow))
    await asyncio.sleep(0)
    response = await fetch(gateway, views, link(), files=files)
    assert response.status_code == 503
    going.set()
    assert (await first).content == CONTENT
    assert (await fetch(gateway, views, link(), files=files)).status_code == 200


async def test_a_recipient_does_not_delay_others(gateway: MemoryGateway, views: Views) -> None:
    files = GeneratedFiles(views.generate, at_once=2, for_one=1, timeout=0.01)

    async def never() -> IcebergView:
        await asyncio.Event().wait()
        return _view(CONTENT)

    greedy = [
        asyncio.create_task(files.get("r2", key, MANIFEST_LIST, never)) for key in ("a", "b", "c")
    ]
    await asyncio.sleep(0)
    assert (await fetch(gateway, views, link(), files=files)).content == CONTENT
    await files.aclose()
    ended = await asyncio.gather(*greedy, return_exceptions=True)
    assert all(isinstance(each, BaseException) for each in ended)
