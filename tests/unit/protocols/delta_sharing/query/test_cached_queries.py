"""Equal queries get the same bytes for a short time; every query is checked and recorded."""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.cached_queries import ALL, NOW, CachedQueries, end, lines, with_properties
from support.gateways.memory_gateway import (
    LIFETIME,
    MemoryGateway,
    catalog_table,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_grants import ACME, RIVAL
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import WITH_VECTORS, MemoryFormat, file, snapshot

from sluicegate._util.clock import epoch_ms
from sluicegate.api import NotFound, PermissionDenied, StorageError, TemporaryCredentials, url_label
from sluicegate.protocols.delta_sharing.query.selection import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.protocols.delta_sharing.request import QueryRequest, TimeTravel
from sluicegate.tables.derived_files import DerivedFile
from sluicegate_testing.fakes import MemoryVendor

TABLE = shared_table(history=True)
BY_DAY = table_metadata([schema_field("day", "string")], ["day"])
WITH_END = "includeendstreamaction=true"
EXPIRES = NOW + LIFETIME * 1000
DERIVED = {
    "storageType": "derived",
    "pathOrInlineDv": str(DerivedFile.of(b"vector", "recipe")),
    "offset": 1,
    "sizeInBytes": 1,
    "cardinality": 1,
    "maxRowIndex": None,
}


def made(count: int = 4, **options: Any) -> CachedQueries:
    rows = [
        file(f"{number}.parquet", partition_values=f'{{"day":"{number % 2}"}}')
        for number in range(count)
    ]
    gateway = memory_gateway(TABLE, format=MemoryFormat([snapshot(*rows, metadata=BY_DAY)]))
    return of(gateway, **options)


def of(gateway: MemoryGateway, **options: Any) -> CachedQueries:
    gateway.storage.expires_at = EXPIRES
    return CachedQueries(gateway, TABLE, **options)


@pytest.mark.parametrize("coding", [None, "gzip", "zstd"])
@pytest.mark.parametrize("header", [None, WITH_END, "responseformat=delta"])
async def test_an_equal_query_gets_the_same_bytes_without_signatures(
    coding: str | None, header: str | None
) -> None:
    cached = made()
    first = await cached.body(header=header, coding=coding)
    signed = cached.signed
    assert await cached.body(header=header, coding=coding) == first
    assert cached.signed == signed > 0


async def test_a_cached_response_has_its_coding_and_length() -> None:
    cached = made()
    new = await cached.respond(coding="gzip")
    body = b"".join([part async for part in new.lines])
    again = await cached.respond(coding="gzip")
    expected = {**new.headers, "Content-Length": str(len(body))}
    assert again.headers == expected
    assert (new.headers["Content-Encoding"], new.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert lines(zlib.decompress(body, 31)) == lines(await cached.body())


async def test_a_response_without_a_coding_varies_like_one_with_it() -> None:
    cached = made()
    for _ in range(2):
        response = await cached.respond()
        assert response.headers["Vary"] == "Accept-Encoding"
        assert "Content-Encoding" not in response.headers
        assert [part async for part in response.lines]


async def test_without_a_budget_nothing_is_cached_or_encoded() -> None:
    cached = made(budget=0)
    new = await cached.respond(coding="gzip")
    assert "Content-Encoding" not in new.headers
    body = b"".join([part async for part in new.lines])
    assert await cached.body(coding="gzip") == body
    assert cached.signed == 2


@pytest.mark.parametrize(
    "other",
    [
        {"request": replace(ALL, limit=1)},
        {"request": replace(ALL, max_files=2)},
        {"request": replace(ALL, sql_hints=("day = '1'",))},
        {"request": replace(ALL, json_hints='{"op":"isNull"}')},
        {"request": QueryRequest(TimeTravel(version=0))},
        {"header": "responseformat=delta"},
        {"header": WITH_END},
        {"coding": "gzip"},
        {"principal": RIVAL},
        {"principal": with_properties(ACME, day="1")},
        {"shared": replace(TABLE, id="another entry")},
        {"shared": replace(TABLE, partition_filter="day = '1'")},
    ],
)
async def test_another_query_gets_its_own_response(other: dict[str, Any]) -> None:
    cached = made()
    await cached.body()
    await cached.body(**other)
    assert cached.signed == 2


async def test_a_new_version_gets_a_new_response() -> None:
    cached = made()
    await cached.body()
    later = snapshot(file("new.parquet"), version=1, metadata=BY_DAY)
    cached.gateway.format.versions = [*cached.gateway.format.versions, later]
    assert b"new.parquet" in await cached.body()


async def test_a_table_that_was_created_again_with_the_same_version_gets_a_new_response() -> None:
    cached = made()
    await cached.body()
    cached.gateway.format.versions = [snapshot(file("new.parquet"), metadata=BY_DAY)]
    assert b"new.parquet" in await cached.body()


async def test_a_table_with_another_location_gets_a_new_response() -> None:
    cached = made()
    await cached.body()
    moved = catalog_table(location="memory://lake/moved")
    cached.gateway.catalog["orders"] = moved
    assert b"lake/moved/0.parquet" in await cached.body()


async def test_a_response_is_reused_for_a_tenth_of_its_lifetime_at_most_five_minutes() -> None:
    for lifetime, reuse in ((3600, 300), (7 * 86_400, 300), (600, 60)):
        cached = made()
        cached.gateway.storage.expires_at = NOW + lifetime * 1000
        await cached.body()
        cached.now = NOW + reuse * 1000 - 1
        await cached.body()
        assert cached.signed == 1
        cached.now = NOW + reuse * 1000
        await cached.body()
        assert cached.signed == 2


async def test_urls_that_have_expired_already_are_not_cached() -> None:
    cached = made()
    cached.gateway.storage.expires_at = NOW
    await cached.body()
    await cached.body()
    assert cached.signed == 2


async def test_a_clock_that_is_set_back_ends_reuse() -> None:
    cached = made()
    await cached.body()
    cached.now = NOW - 1
    await cached.body()
    assert cached.signed == 2


async def test_the_expiry_in_the_lines_is_that_of_the_urls() -> None:
    cached = made()
    await cached.body(header=WITH_END)
    cached.now += 1_000
    cached.gateway.storage.expires_at += 1_000
    body = await cached.body(header=WITH_END)
    assert {line["file"]["expirationTimestamp"] for line in lines(body)[2:-1]} == {EXPIRES}
    assert end(body)["minUrlExpirationTimestamp"] == EXPIRES


async def test_each_request_is_in_the_ledger_and_in_the_events_of_plugins() -> None:
    cached = made()
    for _ in range(2):
        await cached.body()
    new, again = cached.gateway.ledger.noted
    assert new.id != again.id
    assert (again.files, again.expires_at, again.recipient) == (new.files, new.expires_at, "acme")
    assert again.issued_at == NOW
    told = [(each.kind, each.attributes["files"]) for each in cached.gateway.events]
    assert told == [("issued.urls", 4)] * 2


async def test_a_label_names_the_response_of_the_same_recipient_that_was_signed() -> None:
    cached = made()
    for principal in (ACME, RIVAL, ACME, RIVAL):
        await cached.body(principal=principal)
    first, second, *_ = cached.gateway.ledger.noted
    assert (first.recipient, second.recipient) == ("acme", "rival")
    assert cached.gateway.storage.labels == [url_label(first.id), url_label(second.id)]


async def test_a_response_without_files_is_not_in_the_ledger() -> None:
    cached = made(0)
    assert await cached.body() == await cached.body()
    assert cached.gateway.ledger.noted == []


async def test_a_refresh_gets_new_signatures_which_then_serve_others() -> None:
    cached = made()
    token = end(await cached.body(replace(ALL, include_refresh_token=True)))["refreshToken"]
    cached.gateway.storage.expires_at += 7_000
    renewed = await cached.body(replace(ALL, refresh_token=token))
    assert f'"expirationTimestamp":{EXPIRES + 7_000}'.encode() in renewed
    assert cached.signed == 2
    assert await cached.body() == renewed
    assert cached.signed == 2


async def test_tokens_are_new_in_each_response(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = made()
    moment = [NOW / 1000]
    for signer in vars(cached.queries._continuations).values():
        monkeypatch.setattr(signer, "_clock", lambda: moment[0])
    request = replace(ALL, include_refresh_token=True, max_files=1)
    first = end(await cached.body(request))
    moment[0] += 50
    second = end(await cached.body(request))
    assert cached.signed == 1
    moment[0] += 50  # the tokens of the first response have expired
    assert (
        first.keys() == second.keys() == {"refreshToken", "nextPageToken", "minUrlExpirationTimestamp"}
    )
    page = replace(ALL, max_files=1, page_token=second["nextPageToken"])
    assert b"1.parquet" in await cached.body(page)
    assert await cached.body(replace(ALL, refresh_token=second["refreshToken"]))


async def test_pages_are_reused_whatever_their_tokens() -> None:
    cached = made()
    for _ in range(2):
        request = replace(ALL, max_files=3)
        first = await cached.body(request)
        token = end(first)["nextPageToken"]
        last = await cached.body(replace(request, page_token=token))
        assert b"3.parquet" in last
        assert "nextPageToken" not in end(last)
    assert cached.signed == 2


async def test_what_can_not_be_seen_any_more_is_not_reused() -> None:
    cached = made()
    await cached.body()
    cached.gateway.catalog.clear()
    with pytest.raises(NotFound):
        await cached.respond()


async def test_a_recipient_without_the_property_of_the_filter_gets_nothing() -> None:
    cached = made(share=True)
    shared = replace(TABLE, partition_filter="day = recipient.day")
    await cached.body(principal=with_properties(ACME, day="1"), shared=shared)
    with pytest.raises(PermissionDenied):
        await cached.respond(principal=RIVAL, shared=shared)


async def test_a_response_that_fails_midway_is_not_cached() -> None:
    cached = made(FIRST_BATCH_ROWS + BATCH_ROWS)
    response = await cached.respond(header=WITH_END, coding="gzip")
    cached.gateway.storage.failure = StorageError("the store is down")
    failed = zlib.decompress(b"".join([part async for part in response.lines]), 31)
    assert end(failed)["httpStatusErrorCode"] == 503
    cached.gateway.storage.failure = None
    complete = zlib.decompress(await cached.body(header=WITH_END, coding="gzip"), 31)
    assert len(lines(complete)) == FIRST_BATCH_ROWS + BATCH_ROWS + 3
    assert cached.cache.recorded == 0


async def test_a_response_that_is_not_read_to_the_end_is_not_cached() -> None:
    cached = made(FIRST_BATCH_ROWS + BATCH_ROWS)
    response = await cached.respond()
    await anext(response.lines)
    assert cached.cache.recorded > 0
    del response
    for _ in range(10):  # each generator around another one is closed in a task
        await asyncio.sleep(0)
    assert (cached.cache.recorded, cached.cache.weight) == (0, 0)


async def test_a_response_that_is_too_large_is_sent_but_not_cached() -> None:
    cached = made(1_000, budget=400_000)
    assert len(lines(await cached.body())) == 1_002
    assert (cached.cache.recorded, cached.cache.weight) == (0, 0)


async def test_concurrent_equal_queries_are_all_complete() -> None:
    cached = made(FIRST_BATCH_ROWS + BATCH_ROWS)
    bodies = await asyncio.gather(*(cached.body() for _ in range(5)))
    assert len(set(bodies)) == 1
    assert cached.cache.recorded == 0


class TestSharedBetweenRecipients:
    """`cache.share_answers`."""

    async def test_recipients_who_see_the_same_get_the_same(self) -> None:
        cached = made(share=True)
        assert await cached.body(principal=ACME) == await cached.body(principal=RIVAL)
        assert cached.signed == 1
        assert [each.recipient for each in cached.gateway.ledger.noted] == ["acme", "rival"]

    async def test_urls_that_can_be_shared_have_no_label(self) -> None:
        cached = made(share=True)
        await cached.body(principal=ACME)
        assert (cached.signed, cached.gateway.storage.labels) == (1, [])

    async def test_tokens_are_each_recipients_own(self) -> None:
        cached = made(share=True)
        request = replace(ALL, include_refresh_token=True)
        await cached.body(request, ACME)
        token = end(await cached.body(request, RIVAL))["refreshToken"]
        assert cached.signed == 1
        assert await cached.body(replace(ALL, refresh_token=token), RIVAL)

    async def test_recipients_with_other_properties_get_their_own(self) -> None:
        cached = made(share=True)
        await cached.body(principal=with_properties(ACME, day="1"))
        await cached.body(principal=with_properties(RIVAL, day="0"))
        assert cached.signed == 2

    async def test_vended_credentials_never_sign_for_another_recipient(self) -> None:
        cached = made(share=True)
        cached.gateway.catalog["orders"] = catalog_table(vendor=MemoryVendor())
        for principal in (ACME, RIVAL, ACME, RIVAL):
            await cached.body(principal=principal)
        assert cached.signed == 2
        assert all(used is not None for _, used in cached.gateway.storage.signed)

    async def test_links_that_contain_a_recipient_are_its_own(self) -> None:
        rows = [file("a.parquet", deletion_vector=DERIVED)]
        found = snapshot(*rows, metadata=BY_DAY, protocol=WITH_VECTORS)
        gateway = memory_gateway(TABLE, format=MemoryFormat([found]))
        cached = of(gateway, share=True, now=epoch_ms())  # these links use the clock of the machine
        header = "responseformat=delta;readerfeatures=deletionvectors"
        acme, rival = [await cached.body(principal=each, header=header) for each in (ACME, RIVAL)]
        assert acme != rival
        assert await cached.body(principal=ACME, header=header) == acme
        assert cached.signed == 2


async def test_new_vended_credentials_end_reuse() -> None:
    vendor = MemoryVendor()
    cached = made()
    cached.gateway.catalog["orders"] = catalog_table(vendor=vendor)
    await cached.body()
    used: list[TemporaryCredentials | None] = [used for _, used in cached.gateway.storage.signed]
    cached.gateway.grants.recipients["acme"] = replace(
        cached.gateway.grants.recipients["acme"], last_revoked_at=2**53
    )
    await cached.body()
    used = [used for _, used in cached.gateway.storage.signed]
    assert len(used) == 2
    assert used[0] != used[1]
