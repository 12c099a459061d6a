"""The chains of several processes in one database: registered, continued, sealed, and read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from support.audit.records import (
    KEYS,
    finding_in,
    numbered,
    opened,
    records_in,
    write_all,
)

from sluicegate.audit.assembly import _database_sink
from sluicegate.audit.chain import Head
from sluicegate.audit.encoding import encode
from sluicegate.audit.own_records import BROKEN, DELETED, HEADS, LogEntry
from sluicegate.audit.reading.export import export_lines
from sluicegate.audit.reading.query import AuditQuery, stored_record
from sluicegate.audit.reading.search import parse_place, place_text, search, search_page
from sluicegate.audit.records import AuditLog
from sluicegate.audit.sinks.database.reading import chain_numbers, read_heads
from sluicegate.audit.sinks.database.sink import DatabaseSink
from sluicegate.audit.sinks.database.transactions import SHARED
from sluicegate.audit.verification.database import verify_database
from sluicegate.audit.verification.files import verify_path
from sluicegate.database import Store
from sluicegate.database.tables import audit_chain_blocks, audit_chains

_OWN = audit_chains.c.chain


def _entry(number: int) -> LogEntry:
    record = numbered(number)
    return LogEntry(encode(record), record.at)


@asynccontextmanager
async def _sink(store: Store) -> AsyncIterator[DatabaseSink]:
    sink = _database_sink(KEYS, store)
    assert isinstance(sink, DatabaseSink)
    try:
        yield sink
    finally:
        await sink.aclose()


@asynccontextmanager
async def _sinks(store: Store, number: int) -> AsyncIterator[list[DatabaseSink]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(_sink(store)) for _ in range(number)]


async def _write_in_turns(store: Store, writers: int, rounds: int) -> None:
    """Write records of which each chain gets every n-th one."""
    async with _sinks(store, writers) as sinks:
        for number in range(writers * rounds):
            await sinks[number % writers].append([_entry(number)])


async def _execute(store: Store, *statements: Any) -> None:
    async with store.append() as connection:
        for each in statements:
            await connection.execute(each)


async def _rows(store: Store, chain: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the blocks of a chain."""
    async with store.read() as connection:
        head = (
            await connection.execute(select(audit_chains).where(audit_chains.c.chain == chain))
        ).one()
        blocks = select(audit_chain_blocks).where(audit_chain_blocks.c.chain == chain)
        return head._asdict(), [row._asdict() for row in await connection.execute(blocks)]


async def _restore(store: Store, head: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
    """Replace a chain by an older state of it."""
    chain = head["chain"]
    await _execute(
        store,
        delete(audit_chain_blocks).where(audit_chain_blocks.c.chain == chain),
        update(audit_chains).where(audit_chains.c.chain == chain).values(**head),
        *(insert(audit_chain_blocks).values(**block) for block in blocks),
    )


async def _found(store: Store) -> tuple[str, str] | None:
    """The kind of what is wrong first, and the chain."""
    for each in await verify_database(store, KEYS):
        if each.finding is not None:
            return each.finding.kind, each.chain
    return None


async def test_a_process_continues_the_chain_of_one_that_has_ended(
    database_url: str, store: Store
) -> None:
    for number in range(3):
        async with opened(database_url) as log:
            await log.write(numbered(number))
    assert await chain_numbers(store) == [SHARED, 1]
    assert [each.seq for each in await records_in(store)] == [1, 2, 3]


async def test_a_chain_whose_process_was_killed_is_free_after_some_time(
    database_url: str, store: Store
) -> None:
    async with opened(database_url) as log:
        await log.write(numbered(0))
    await _execute(store, update(audit_chains).where(_OWN == 1).values(owner="killed"))
    async with opened(database_url) as log:
        await log.write(numbered(1))
    assert await chain_numbers(store) == [SHARED, 1, 2]
    await _execute(store, update(audit_chains).values(renewed_at=audit_chains.c.renewed_at - 61_000))
    async with opened(database_url) as log:
        await log.write(numbered(2))
    assert await chain_numbers(store) == [SHARED, 1, 2]
    assert [each.chain for each in await records_in(store)] == [1, 1, 2]
    assert await finding_in(store) is None


async def test_a_process_that_was_suspended_writes_to_another_chain(store: Store) -> None:
    async with _sinks(store, 2) as (suspended, other):
        await suspended.append([_entry(0)])
        await _execute(store, update(audit_chains).where(_OWN == 1).values(renewed_at=0))
        await other.append([_entry(1)])
        await asyncio.gather(suspended.append([_entry(2)]), other.append([_entry(3)]))
    found = {each.record.request_id: each.chain for each in await records_in(store)}
    assert found == {"r0": 1, "r1": 1, "r2": 2, "r3": 1}
    assert await finding_in(store) is None


async def test_processes_whose_clocks_differ_do_not_take_chains_from_each_other_forever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.audit.sinks.database.claims.STALE", -1)  # each chain looks stale
    async with _sinks(store, 3) as sinks:
        for number in range(30):
            await sinks[number % 3].append([_entry(number)])
        taken = {each.chain for each in await records_in(store) if each.record.at >= numbered(20).at}
    assert len(taken) == 3
    assert len(await chain_numbers(store)) <= 5
    assert len(await records_in(store)) == 30
    assert await finding_in(store) is None


async def test_records_fail_if_others_take_each_chain(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _sink(store) as sink:
        await sink.append([_entry(0)])
        claim = sink._transactions.claim

        async def robbed(choosing: Any) -> Any:
            claimed = await claim(choosing)
            await _execute(store, update(audit_chains).values(owner="other"))
            return claimed

        monkeypatch.setattr(sink._transactions, "claim", robbed)
        await _execute(store, update(audit_chains).values(owner="other"))
        with pytest.raises(Exception, match="can't be written"):
            await sink.append([_entry(1)])
        monkeypatch.undo()
        await sink.append([_entry(2)])
    assert [each.record.request_id for each in await records_in(store)] == ["r0", "r2"]


async def test_a_removed_chain_is_found_forever(store: Store) -> None:
    await _write_in_turns(store, 3, 2)
    removed = delete(audit_chain_blocks).where(audit_chain_blocks.c.chain == 3)
    await _execute(store, removed, delete(audit_chains).where(_OWN == 3))
    assert await _found(store) == ("head", "database 3")
    async with _sink(store) as sink:
        await sink.append([_entry(9)])
    assert await _found(store) == ("broken", "database 3")


async def test_a_chain_that_was_replaced_by_an_empty_one_is_found(store: Store) -> None:
    await _write_in_turns(store, 2, 2)
    head, _ = await _rows(store, 2)
    empty = {"seq": 0, "mac": bytes(32), "seal": b""}
    await _restore(store, head | empty, [])
    assert await _found(store) == ("head", "database 2")
    seal = KEYS.sealing_in(1).head_seal("database 1", Head())
    await _restore(store, head | empty | {"seal": seal}, [])
    assert await _found(store) == ("head", "database 2")


async def test_a_changed_register_is_found_forever(store: Store) -> None:
    await _write_in_turns(store, 2, 2)
    for values in ({"seq": 1}, {"seq": 0, "seal": b""}, {"seq": 2**31}):
        register, _ = await _rows(store, 0)
        await _execute(store, update(audit_chains).where(_OWN == 0).values(**values))
        assert await _found(store) == ("head", "register of chains")
        await _execute(store, update(audit_chains).where(_OWN == 0).values(**register))
    await _execute(store, delete(audit_chains).where(_OWN == 0))
    assert await _found(store) == ("head", "register of chains")
    async with _sink(store) as sink:
        await sink.append([_entry(9)])
    assert await _found(store) == ("broken", "database 1")


@pytest.mark.parametrize("chain", [3, 2**31 - 1, -1])
async def test_a_chain_that_nobody_registered_is_found_and_never_written(
    store: Store, chain: int
) -> None:
    await _write_in_turns(store, 2, 2)
    head, blocks = await _rows(store, 2)
    await _execute(store, insert(audit_chains).values(**head | {"chain": chain}))
    for block in blocks:
        await _execute(store, insert(audit_chain_blocks).values(**block | {"chain": chain}))
    assert await _found(store) == ("inserted", f"database {chain}")
    async with _sinks(store, 2) as sinks:
        for each in sinks:
            await each.append([_entry(9)])
    assert len(await records_in(store)) == 8
    assert await _found(store) == ("inserted", f"database {chain}")


async def test_a_chain_does_not_fit_in_the_place_of_another(store: Store) -> None:
    await _write_in_turns(store, 2, 3)
    (first, own), (second, others) = await _rows(store, 1), await _rows(store, 2)
    positions = {name: second[name] for name in ("seq", "mac", "seal")}
    await _restore(store, first | positions, [each | {"chain": 1} for each in others])
    assert await _found(store) == ("changed", "database 1")
    await _restore(store, first, [each | {"chain": 1} for each in others[:1]] + own[1:])
    assert await _found(store) == ("changed", "database 1")
    await _restore(store, first, own)
    assert await _found(store) is None


async def test_an_end_that_another_chain_has_sealed_is_not_replaced_by_an_older_one(
    store: Store,
) -> None:
    async with _sinks(store, 3) as sinks:
        for number, sink in enumerate(sinks):
            await sink.append([_entry(number)])
        older = await _rows(store, 2)
        for number in range(10, 14):
            await sinks[1].append([_entry(number)])
        await sinks[0].seal_others()
        assert await _found(store) is None
        await _restore(store, *older)
        assert await _found(store) == ("cut off", "database 2")
        # The process itself notices it, too.
        await sinks[1].append([_entry(14)])
    assert BROKEN in {each.record.action for each in await records_in(store) if each.chain == 2}
    assert await _found(store) is not None


async def test_processes_without_requests_do_not_seal_each_other_endlessly(store: Store) -> None:
    async with _sinks(store, 3) as sinks:
        for sink in sinks:
            await sink.seal_others()  # they have no chain yet
            for number in range(5):
                await sink.append([_entry(number)])
        for _ in range(5):
            for sink in sinks:
                await sink.seal_others()
    actions = [each.record.action for each in await records_in(store)]
    assert actions.count(HEADS) == 3
    assert await finding_in(store) is None


async def test_a_database_that_lost_records_of_a_running_process_is_found(store: Store) -> None:
    async with _sink(store) as sink:
        await sink.append([_entry(0)])
        older = await _rows(store, 1)
        await sink.append([_entry(1)])
        await _restore(store, *older)
        await sink.append([_entry(2)])
    assert await _found(store) == ("broken", "database 1")


async def test_several_chains_are_read_in_order_of_time(store: Store) -> None:
    await _write_in_turns(store, 4, 10)
    found = [each async for each in search(store, KEYS, AuditQuery())]
    assert [each.record.request_id for each in found] == [f"r{each}" for each in range(39, -1, -1)]
    some = AuditQuery(since=numbered(5).at, until=numbered(20).at)
    between = [each.record.request_id async for each in search(store, KEYS, some)]
    assert between == [f"r{each}" for each in range(19, 4, -1)]


@pytest.mark.parametrize(("limit", "max_blocks"), [(1, 1000), (7, 1000), (100, 1000), (5, 3), (50, 1)])
async def test_pages_of_several_chains_contain_each_record_once_in_order(
    store: Store, limit: int, max_blocks: int
) -> None:
    await _write_in_turns(store, 3, 8)
    query = AuditQuery(until=numbered(22).at)
    found: list[str | None] = []
    before = None
    for _ in range(100):
        page = await search_page(store, KEYS, query, limit=limit, before=before, max_blocks=max_blocks)
        assert len(page.records) <= limit
        found += [each.record.request_id for each in page.records]
        if page.before is None:
            break
        before = parse_place(place_text(page.before))
        assert before == page.before
    else:
        pytest.fail("the pages do not end")
    assert found == [f"r{each}" for each in range(21, -1, -1)]


@pytest.mark.parametrize("text", ["", "1", "1-", "a-1", "1-2.", "-1-2", "1-2,3-4", "1-" + 20 * "9"])
def test_a_text_that_is_no_place_is_none(text: str) -> None:
    assert parse_place(text) is None


async def test_an_export_of_several_chains_is_in_order_of_time_and_verified(
    store: Store, tmp_path: Any
) -> None:
    await _write_in_turns(store, 3, 6)
    heads = await read_heads(store, KEYS)
    assert heads is not None
    after = {chain: head.checkpoint for chain, head in heads.items()}
    for since in (None, numbered(7).at):
        lines = [each async for each in export_lines(store, after, since=since, until=None)]
        records = [stored_record(each) for each in lines if b'"seq"' in each]
        first = 0 if since is None else 7
        assert [each.record.request_id for each in records] == [f"r{each}" for each in range(first, 18)]
        assert len(lines) - len(records) == (0 if since is None else 3)
        file = tmp_path / "audit.ndjson"
        file.write_bytes(b"\n".join(lines) + b"\n")
        results = list(verify_path(file, KEYS))
        assert [each.finding for each in results] == [None] * 3
        assert sum(each.records for each in results) == len(records)
        without = lines[:-4] + lines[-3:]  # none of the last ones of the chains
        file.write_bytes(b"\n".join(without) + b"\n")
        assert [each.finding.kind for each in verify_path(file, KEYS) if each.finding] == ["removed"]


async def test_old_records_of_all_chains_are_deleted_except_those_of_running_processes(
    store: Store,
) -> None:
    async with _sinks(store, 2) as sinks:
        async with _sink(store) as ended:
            for number in range(9):
                await [*sinks, ended][number % 3].append([_entry(number)])
        await sinks[0].delete_before(numbered(6).at)
        kept = {each.record.request_id for each in await records_in(store)} - {None}
        assert kept == {"r1", "r4", "r6", "r7", "r8"}
        await sinks[1].delete_before(numbered(6).at)
        await asyncio.gather(*(sinks[0].append([_entry(each)]) for each in range(10, 14)))
    records = await records_in(store)
    assert [each.record.action for each in records].count(DELETED) == 3
    assert await finding_in(store) is None


async def test_records_are_stored_while_old_ones_are_deleted(database_url: str, store: Store) -> None:
    async with _sink(store) as sink:
        for number in range(60):
            await sink.append([_entry(number)])

        async def write(log: AuditLog) -> None:
            await write_all(log, range(100, 140))

        async with opened(database_url) as log:
            await asyncio.gather(
                sink.delete_before(numbered(50).at),
                *(sink.append([_entry(number)]) for number in range(200, 220)),
                write(log),
            )
    found = {each.record.request_id for each in await records_in(store)}
    assert found >= {f"r{each}" for each in (*range(50, 60), *range(100, 140), *range(200, 220))}
    assert await finding_in(store) is None


async def test_the_chain_of_earlier_versions_is_verified_searched_and_deleted(store: Store) -> None:
    async with _sink(store) as sink:

        async def earlier(number: int) -> None:
            """Write a record as earlier versions do, in the chain of all processes."""
            sealer = KEYS.sealing
            await sink._transactions.change(
                SHARED,
                lambda stored: sink._extended(SHARED, sealer, stored.head, [_entry(number)]),
            )

        for number in range(6):
            await (earlier(number) if number % 2 else sink.append([_entry(number)]))
        results = await verify_database(store, KEYS)
        assert [(each.chain, each.records, each.finding) for each in results] == [
            ("database", 3, None),
            ("database 1", 3, None),
        ]
        found = [each.record.request_id async for each in search(store, KEYS, AuditQuery())]
        assert found == ["r5", "r4", "r3", "r2", "r1", "r0"]
        await sink.delete_before(numbered(3).at)
        await earlier(7)  # still runs
        await sink.append([_entry(8)])
    assert await finding_in(store) is None
    records = [each for each in await records_in(store) if each.record.action != DELETED]
    assert [(each.chain, each.record.request_id) for each in records] == [
        (0, "r3"),
        (0, "r5"),
        (0, "r7"),
        (1, "r4"),
        (1, "r8"),
    ]
