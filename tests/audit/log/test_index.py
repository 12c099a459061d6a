"""The index of records by names and ids: searches find the same with and without it, and read less."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from support.audit.bulk import index_chains, write_blocks
from support.audit.records import EXAMPLE, KEY, KEYS, numbered
from support.process.random_cases import cases

from sluicegate._util.tasks import cancel_all
from sluicegate.audit.assembly import _database_sink
from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.encoding import encode
from sluicegate.audit.own_records import LogEntry
from sluicegate.audit.reading.query import AuditQuery
from sluicegate.audit.reading.search import Before, search, search_page
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.retention import index_records
from sluicegate.audit.sinks.database import indexer
from sluicegate.audit.sinks.database.sink import DatabaseSink
from sluicegate.audit.sinks.database.transactions import SHARED
from sluicegate.database import Store
from sluicegate.database.tables import audit_chain_blocks, audit_index
from sluicegate.signing.keyring import KeyRing

_BLOCKS = 4  # of a range
_OTHER = b"another key, which is also long enough"


@pytest.fixture(autouse=True)
def short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "RANGE_BLOCKS", _BLOCKS)


def _entry(record: AuditRecord) -> LogEntry:
    return LogEntry(encode(record), record.at)


async def _rows(store: Store) -> list[dict[str, Any]]:
    ordered = select(audit_index).order_by(audit_index.c.chain, audit_index.c.first_seq)
    async with store.read() as connection:
        return [row._asdict() for row in await connection.execute(ordered)]


async def _execute(store: Store, *statements: Any) -> None:
    async with store.append() as connection:
        for each in statements:
            await connection.execute(each)


async def _found(store: Store, query: AuditQuery, keys: ChainKeys = KEYS) -> list[tuple[int, int]]:
    return [(each.chain, each.seq) async for each in search(store, keys, query)]


async def _on_pages(store: Store, query: AuditQuery, max_blocks: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    before: Before | None = None
    for _ in range(500):
        page = await search_page(store, KEYS, query, limit=3, before=before, max_blocks=max_blocks)
        found += [(each.chain, each.seq) for each in page.records]
        before = page.before
        if before is None:
            return found
    pytest.fail("the pages do not end")


def _record(chance: random.Random, at: int) -> AuditRecord:
    share = chance.choice([None, "sales", "Straße", "hr"])
    levels = [
        chance.choice(["sales", "Eu", "a", "", "STRASSE"]) for _ in range(chance.choice([1, 3, 12]))
    ]
    return replace(
        EXAMPLE,
        at=EXAMPLE.at + at,
        request_id=chance.choice([None, f"r{chance.randrange(40)}", "Ä"]),
        actor_kind=chance.choice(["recipient", "admin", "command", "anonymous"]),
        actor=chance.choice([None, "acme", "ACME", "rare", "maß"]),
        address=chance.choice([None, "192.0.2.7", "2001:db8::1"]),
        resource=chance.choice([None, ".".join(levels)]),
        share=share,
    )


def _query(chance: random.Random, records: list[AuditRecord]) -> AuditQuery:
    """A query for values of a record, or for others."""
    example = chance.choice(records)
    resource = example.resource or ""
    cut = resource[: chance.randrange(len(resource) + 1)] if chance.random() < 0.3 else resource
    values: dict[str, Any] = {
        "request_id": example.request_id,
        "recipient": chance.choice([example.actor, (example.actor or "x").swapcase()]),
        "admin": example.actor,
        "share": chance.choice([example.share, "STRASSE"]),
        "resource": chance.choice([cut, cut.upper(), resource.rpartition(".")[0]]),
        "address": chance.choice([example.address, "192.0.2.9"]),
        "since": example.at - chance.randrange(900),
        "until": example.at + chance.randrange(1, 900),
    }
    chosen = chance.sample(sorted(values), chance.randrange(1, 4))
    return AuditQuery(**{name: values[name] for name in chosen})


async def test_random_searches_find_the_same_with_an_index(store: Store) -> None:
    chance = random.Random(0)
    records: list[AuditRecord] = []
    for chain in (SHARED, 1, 2):
        blocks = [
            [
                _record(chance, 60 * number + 10 * each + chain)
                for each in range(chance.choice([1, 1, 5]))
            ]
            for number in range(25)
        ]
        records += [each for block in blocks for each in block]
        await write_blocks(store, chain, blocks)
    queries = [_query(chance, records) for _ in range(cases(100))]
    expected = [await _found(store, each) for each in queries]
    await index_chains(store, SHARED, 1, 2)
    assert {row["chain"] for row in await _rows(store)} == {SHARED, 1, 2}
    assert any(expected)
    for query, found in zip(queries, expected, strict=True):
        assert await _found(store, query) == found, query
        assert await _on_pages(store, query, chance.choice([4, 30])) == found, query


def _numbered_blocks(number: int) -> list[list[AuditRecord]]:
    return [[numbered(each)] for each in range(number)]


async def test_a_search_reads_only_ranges_that_contain_what_it_requires(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(400))
    query = AuditQuery(request_id="r1")
    page = await search_page(store, KEYS, query, limit=9, before=None, max_blocks=30)
    assert not page.records
    await index_chains(store, 1)
    page = await search_page(store, KEYS, query, limit=9, before=None, max_blocks=30)
    assert [each.seq for each in page.records] == [2]
    assert page.before is None
    absent = AuditQuery(request_id="r1", share="other")
    page = await search_page(store, KEYS, absent, limit=9, before=None, max_blocks=30)
    assert (page.records, page.before) == ([], None)


async def test_a_long_index_is_read_on_several_pages(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(500))
    await index_chains(store, 1)
    query = AuditQuery(request_id="r1")
    page = await search_page(store, KEYS, query, limit=9, before=None, max_blocks=1)
    assert not page.records
    assert page.before is not None
    assert await _on_pages(store, query, 1) == [(1, 2)]


@pytest.mark.parametrize(
    "forged",
    [
        {"first_seq": -5},
        {"first_seq": 1},
        {"first_seq": 7},
        {"last_seq": 2**62},
        {"last_seq": 2**63 - 1},
        {"last_seq": 11},
        {"chain": 2},
        {"names": b""},
        {"names": bytes(12)},
        {"seal": b""},
        {"seal": bytes(32)},
    ],
    ids=str,
)
async def test_a_forged_or_moved_row_hides_nothing(store: Store, forged: dict[str, Any]) -> None:
    for chain in (1, 2):
        await write_blocks(store, chain, _numbered_blocks(20))
    await index_chains(store, 1)
    second = (await _rows(store))[1]
    if forged == {"first_seq": 1}:
        await _execute(store, delete(audit_index).where(audit_index.c.first_seq == 1))
    at = (audit_index.c.chain == 1) & (audit_index.c.first_seq == second["first_seq"])
    await _execute(store, update(audit_index).where(at).values(**forged))
    for _ in range(2):
        for number in range(20):
            found = await _found(store, AuditQuery(request_id=f"r{number}"))
            assert sorted(found) == [(1, number + 1), (2, number + 1)]
        await index_chains(store, 1, 2)


async def test_removed_rows_hide_nothing_and_are_made_again(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(26))
    await index_chains(store, 1)
    rows = await _rows(store)
    await _execute(store, delete(audit_index).where(audit_index.c.first_seq.in_([1, 9])))
    for number in range(26):
        assert await _found(store, AuditQuery(request_id=f"r{number}")) == [(1, number + 1)]
    await index_chains(store, 1)
    assert await _rows(store) == rows


async def test_rows_that_overlap_hide_nothing(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(26))
    await index_chains(store, 1)
    await _execute(store, delete(audit_index).where(audit_index.c.first_seq == 1))
    removed = audit_chain_blocks.c.first_seq <= 2
    async with store.read() as connection:
        blocks = [
            dict(row._mapping)
            for row in await connection.execute(select(audit_chain_blocks).where(removed))
        ]
    kept = await _rows(store)
    await _execute(store, delete(audit_chain_blocks).where(removed), delete(audit_index))
    await index_chains(store, 1)  # as another process that starts after a deletion
    await _execute(store, audit_chain_blocks.insert().values(blocks), audit_index.insert().values(kept))
    assert len(await _rows(store)) > len(kept)
    for number in range(26):
        assert await _found(store, AuditQuery(request_id=f"r{number}")) == [(1, number + 1)]


async def test_records_that_no_key_has_sealed_are_not_indexed(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(30))
    columns = audit_chain_blocks.c
    at = update(audit_chain_blocks).where(columns.first_seq == 10)
    async with store.read() as connection:
        read = select(columns.records).where(columns.first_seq == 10)
        line = (await connection.execute(read)).scalar_one()
    await _execute(store, at.values(records=line.replace(b'"r9"', b'"rX"')))
    await index_chains(store, 1)
    await _execute(store, at.values(records=line))
    for number in range(30):
        assert await _found(store, AuditQuery(request_id=f"r{number}")) == [(1, number + 1)]
    rows = await _rows(store)
    assert not any(row["first_seq"] <= 10 <= row["last_seq"] for row in rows)
    assert rows[-1]["last_seq"] > 20


async def test_a_rotated_key_still_finds_what_the_former_one_has_indexed(store: Store) -> None:
    await write_blocks(store, 1, _numbered_blocks(400))
    await index_chains(store, 1)
    query = AuditQuery(request_id="r1")
    for keys, is_found in (
        (ChainKeys(KeyRing((_OTHER, KEY))), True),
        (ChainKeys(KeyRing((_OTHER,)), [KEY]), True),
        (ChainKeys(KeyRing((_OTHER,))), False),
    ):
        page = await search_page(store, keys, query, limit=9, before=None, max_blocks=30)
        assert bool(page.records) == is_found
        assert await _found(store, query, keys) == [(1, 2)]


async def _polled(store: Store) -> AsyncIterator[list[dict[str, Any]]]:
    for _ in range(500):
        yield await _rows(store)
        await asyncio.sleep(0.01)
    pytest.fail("the records are not indexed")


@pytest.fixture
async def sink(store: Store) -> AsyncIterator[DatabaseSink]:
    made = _database_sink(KEYS, store)
    assert isinstance(made, DatabaseSink)
    yield made
    await made.aclose()


async def test_a_process_indexes_its_records_and_deletes_the_index_of_old_ones(
    store: Store, sink: DatabaseSink
) -> None:
    for number in range(14):
        await sink.append([_entry(numbered(number))])
    indexing = asyncio.create_task(index_records([sink], pause=0))
    try:
        async for rows in _polled(store):
            if len(rows) == 3:
                break
    finally:
        await cancel_all(indexing)
    assert [(row["first_seq"], row["last_seq"]) for row in await _rows(store)] == [
        (1, 4),
        (5, 8),
        (9, 12),
    ]
    await sink.delete_before(numbered(6).at)
    assert [row["first_seq"] for row in await _rows(store)] == [5, 9]
    found = await _found(store, AuditQuery(recipient=EXAMPLE.actor))
    assert found == [(1, seq) for seq in range(14, 6, -1)]
