"""One chain in a database, which several processes write at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from support.audit.records import (
    KEY,
    KEYS,
    RING,
    finding_in,
    ignore,
    numbered,
    opened,
    records_in,
    settings,
    write_all,
)
from support.audit.writer import start_writer

from sluicegate.audit.assembly import audit_log
from sluicegate.audit.chain import ChainKeys, Head
from sluicegate.audit.encoding import Packer, unpack
from sluicegate.audit.own_records import BROKEN, DELETED
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, stored_record
from sluicegate.audit.reading.search import Before, search
from sluicegate.audit.sinks.database.reading import blocks_from, read_end
from sluicegate.audit.sinks.database.sink import DatabaseSink
from sluicegate.audit.verification.database import verify_database
from sluicegate.database import Store
from sluicegate.database.tables import audit_chain_blocks, audit_chains
from sluicegate.signing.keyring import KeyRing

_CHAIN = 1  # the first one
_BLOCKS = audit_chain_blocks
_IS_IT = audit_chains.c.chain == _CHAIN
_NEWER = KeyRing((b"the second key, which is long enough", KEY))


async def _searched(store: Store, before: Before | None = None, **query: Any) -> list[StoredRecord]:
    return [each async for each in search(store, KEYS, AuditQuery(**query), before)]


async def _found(store: Store) -> tuple[str, int] | None:
    finding = await finding_in(store)
    return None if finding is None else (finding.kind, finding.seq)


async def test_a_new_log_is_empty_and_intact(store: Store) -> None:
    (result,) = await verify_database(store, KEYS)
    assert (result.records, str(result.head), result.finding) == (0, f"0:{64 * '0'}", None)


async def test_records_are_stored_in_the_order_in_which_they_were_written(
    database_url: str, store: Store
) -> None:
    async with opened(database_url) as log:
        await write_all(log, range(20))
        await asyncio.gather(*(log.write(numbered(number)) for number in range(20, 300)))
    records = await records_in(store)
    assert [each.seq for each in records] == list(range(1, 301))
    assert [each.record for each in records] == [numbered(number) for number in range(300)]
    assert await _found(store) is None


async def test_a_record_is_durable_when_write_returns(database_url: str, store: Store) -> None:
    async with opened(database_url) as log:
        for number in range(3):
            await log.write(numbered(number))
            assert len(await records_in(store)) == number + 1


async def test_concurrent_writes_are_committed_together(database_url: str, store: Store) -> None:
    async with opened(database_url) as log:
        await asyncio.gather(*(log.write(numbered(number)) for number in range(100)))
    blocks = [block async for block in blocks_from(store, _CHAIN)]
    assert len(blocks) < 10


async def test_several_processes_write_a_chain_each(database_url: str, store: Store) -> None:
    writers = [await start_writer(database_url, first, 80) for first in (0, 1000, 2000)]
    async with opened(database_url) as one, opened(database_url) as other:
        await asyncio.gather(write_all(one, range(3000, 3080)), write_all(other, range(4000, 4080)))
    for writer in writers:
        await writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    results = await verify_database(store, KEYS)
    assert [each.finding for each in results] == [None] * len(results)
    assert 2 <= len(results) <= 5  # a process that starts late can continue the chain of an ended one
    assert sum(each.records for each in results) == 400
    found = [each.record.request_id for each in await _searched(store)]
    assert len(found) == 400
    assert {*found} == {
        f"r{first + each}" for first in (0, 1000, 2000, 3000, 4000) for each in range(80)
    }


async def test_a_cancelled_writer_does_not_stop_others(database_url: str, store: Store) -> None:
    async with opened(database_url) as log:
        tasks = [asyncio.create_task(log.write(numbered(number))) for number in range(30)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not any(task.cancelled() for task in tasks[1::2])
        await log.write(numbered(99))
    written = {each.record.request_id for each in await records_in(store)}
    assert written >= {f"r{number}" for number in (*range(1, 30, 2), 99)}
    assert await _found(store) is None


async def test_what_waits_is_written_when_the_gateway_ends(database_url: str, store: Store) -> None:
    async with opened(database_url) as log:
        tasks = [asyncio.create_task(log.write(numbered(number))) for number in range(50)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert len(await records_in(store)) == 50


async def _replace_lines(store: Store, first_seq: int, lines: Sequence[bytes]) -> None:
    async with store.append() as connection:
        values = {"records": Packer().pack(lines), "count": len(lines)}
        chosen = update(_BLOCKS).where(_BLOCKS.c.first_seq == first_seq)
        await connection.execute(chosen.values(values))


async def _filled(database_url: str) -> None:
    """Write blocks that start at 1, 2, …, 9, and 10, which has ten records."""
    async with opened(database_url) as log:
        await write_all(log, range(9))
        await asyncio.gather(*(log.write(numbered(number)) for number in range(9, 19)))


async def _lines(store: Store, first_seq: int) -> list[bytes]:
    async for block in blocks_from(store, _CHAIN, first_seq):
        return unpack(block.records)
    raise AssertionError("no such block")


async def test_changes_of_blocks_are_found(database_url: str, store: Store) -> None:
    await _filled(database_url)
    lines = await _lines(store, 10)
    changed = lines[4].replace(b'"allowed"', b'"refused"')
    cases: dict[tuple[str, int], list[bytes]] = {
        ("changed", 14): [*lines[:4], changed, *lines[5:]],
        ("removed", 13): lines[:3] + lines[4:],
        ("reordered", 10): [lines[1], lines[0], *lines[2:]],
        ("inserted", 11): [*lines[:2], lines[1], *lines[2:]],
    }
    for found, replaced in cases.items():
        await _replace_lines(store, 10, replaced)
        assert await _found(store) == found
    await _replace_lines(store, 10, lines)
    assert await _found(store) is None
    for first_seq in (5, 1):
        async with store.append() as connection:
            await connection.execute(delete(_BLOCKS).where(_BLOCKS.c.first_seq == first_seq))
        assert await _found(store) == ("removed", first_seq)


async def test_a_damaged_block_is_found(database_url: str, store: Store) -> None:
    await _filled(database_url)
    async with store.append() as connection:
        chosen = update(_BLOCKS).where(_BLOCKS.c.first_seq == 10)
        await connection.execute(chosen.values(records=b"\x28\xb5\x2f\xfdgarbage"))
    assert await _found(store) == ("unreadable", 10)


async def test_a_removed_end_is_found(database_url: str, store: Store) -> None:
    await _filled(database_url)
    async with store.append() as connection:
        await connection.execute(delete(_BLOCKS).where(_BLOCKS.c.first_seq == 10))
    assert await _found(store) == ("cut off", 10)
    async with opened(database_url) as log:
        await log.write(numbered(20))
    assert await _found(store) == ("removed", 10)  # the chain does not hide it


async def test_an_end_that_was_removed_with_its_head_is_found_forever(
    database_url: str, store: Store
) -> None:
    await _filled(database_url)
    last = stored_record((await _lines(store, 9))[0])
    async with store.append() as connection:
        await connection.execute(delete(_BLOCKS).where(_BLOCKS.c.first_seq == 10))
        await connection.execute(
            update(audit_chains).where(_IS_IT).values(seq=9, mac=bytes.fromhex(last.mac))
        )
    assert await _found(store) == ("head", 9)
    async with opened(database_url) as log:
        await write_all(log, range(20, 23))
    assert await _found(store) == ("broken", 10)
    assert [each.record.action for each in await records_in(store)][9:11] == [BROKEN, "queryTable"]


async def test_a_removed_head_is_found_and_records_are_still_written(
    database_url: str, store: Store
) -> None:
    await _filled(database_url)
    async with store.append() as connection:
        await connection.execute(delete(audit_chains).where(_IS_IT))
    assert await _found(store) == ("head", 19)
    async with opened(database_url) as log:
        await log.write(numbered(20))
    assert await _found(store) == ("broken", 20)


async def test_a_record_behind_the_end_is_found_and_does_not_stop_the_log(
    database_url: str, store: Store
) -> None:
    await _filled(database_url)
    values = {
        "chain": _CHAIN,
        "first_seq": 20,
        "count": 1,
        "first_at": 1,
        "last_at": 1,
        "mac": bytes(32),
    }
    async with store.append() as connection:
        await connection.execute(insert(_BLOCKS).values(**values, records=b"{}"))
    async with opened(database_url) as log:
        await log.write(numbered(20))
    assert await _found(store) == ("changed", 20)


async def test_an_older_state_is_found_by_the_expected_head(database_url: str, store: Store) -> None:
    await _filled(database_url)
    async with store.read() as connection:
        row = (await connection.execute(select(audit_chains).where(_IS_IT))).one()._asdict()
    async with opened(database_url) as log:
        await log.write(numbered(20))
    printed = (await verify_database(store, KEYS))[0].head
    async with store.append() as connection:
        await connection.execute(delete(_BLOCKS).where(_BLOCKS.c.first_seq == 20))
        await connection.execute(update(audit_chains).where(_IS_IT).values(row))
    (result,) = await verify_database(store, KEYS, [printed])
    assert (result.finding, result.matched) == (None, frozenset())


async def test_the_chain_is_verified_after_keys_rotated(database_url: str, store: Store) -> None:
    await _filled(database_url)
    async with opened(database_url, keys=_NEWER) as log:
        await log.write(numbered(20))
    async with opened(database_url, keys=KeyRing((KEY, _NEWER.signing))) as log:
        await log.write(numbered(21))  # a replica that still has the earlier configuration
    assert await finding_in(store, ChainKeys(_NEWER)) is None
    assert await finding_in(store, ChainKeys(KeyRing((_NEWER.signing,)), former=[KEY])) is None
    without = await finding_in(store, ChainKeys(KeyRing((_NEWER.signing,))))
    assert without is not None
    assert without.kind == "unknown key"


async def test_a_former_key_of_the_configuration_verifies(database_url: str, store: Store) -> None:
    await _filled(database_url)
    configured = settings(database_url, {"former_keys": [KEY.decode()]})
    async with audit_log(configured, KeyRing((_NEWER.signing,)), store, ignore) as log:
        await log.write(numbered(20))
    assert await finding_in(store, ChainKeys(_NEWER)) is None


async def test_a_lost_key_is_recorded_and_does_not_stop_the_log(
    database_url: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await _filled(database_url)
    async with opened(database_url, keys=KeyRing((_NEWER.signing,))) as log:
        await log.write(numbered(20))
    assert "no configured key" in caplog.text
    assert [each.record.action for each in await records_in(store)][19:] == [BROKEN, "queryTable"]


async def _sink(store: Store) -> DatabaseSink:
    from sluicegate.audit.assembly import _database_sink

    sink = _database_sink(KEYS, store)
    assert isinstance(sink, DatabaseSink)
    return sink


async def test_old_records_are_deleted_and_the_rest_is_verified(
    database_url: str, store: Store
) -> None:
    await _filled(database_url)
    sink = await _sink(store)
    try:
        await sink.delete_before(numbered(4).at)
        head = (await read_end(store, KEYS, _CHAIN)).head
        assert head is not None
        assert head.checkpoint.seq == 4
        records = await records_in(store)
        assert [each.seq for each in records] == list(range(5, 21))
        assert records[-1].record.action == DELETED
        assert records[-1].record.issued == {
            "records": 4,
            "through": str(head.checkpoint),
            "last_at": numbered(3).at,
            "before": numbered(4).at,
        }
        assert await _found(store) is None
        await sink.delete_before(numbered(4).at)  # nothing is left to delete
        assert len(await records_in(store)) == 16
        await sink.delete_before(numbered(12).at)  # in the middle of a block, which stays
        assert [each.seq for each in await records_in(store)] == list(range(10, 22))
    finally:
        await sink.aclose()
    assert await _found(store) is None


async def test_processes_that_delete_at_the_same_time_keep_the_chain(
    database_url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.audit.sinks.database.expiry._DELETED_AT_ONCE", 2)
    await _filled(database_url)
    sinks = [await _sink(store) for _ in range(3)]
    try:
        await asyncio.gather(*(sink.delete_before(numbered(9).at) for sink in sinks))
    finally:
        for sink in sinks:
            await sink.aclose()
    assert min(each.seq for each in await records_in(store)) == 10
    assert await _found(store) is None


async def test_a_record_that_is_deleted_by_hand_is_not_taken_for_an_old_one(
    database_url: str, store: Store
) -> None:
    await _filled(database_url)
    mac = bytes.fromhex(stored_record((await _lines(store, 3))[0]).mac)
    async with store.append() as connection:
        await connection.execute(delete(_BLOCKS).where(_BLOCKS.c.first_seq <= 3))
        values = {"checkpoint_seq": 3, "checkpoint_mac": mac}
        await connection.execute(update(audit_chains).where(_IS_IT).values(values))
    found = await _found(store)
    assert found is not None
    assert found[0] == "head"


async def test_a_search_finds_the_newest_records_first(database_url: str, store: Store) -> None:
    await _filled(database_url)
    found = [each.seq for each in await _searched(store, since=numbered(5).at)]
    assert found == list(range(19, 5, -1))
    found = [each.seq for each in await _searched(store, {_CHAIN: 12}, until=numbered(12).at)]
    assert found == list(range(11, 0, -1))


def test_an_empty_head_is_only_that_of_an_empty_log() -> None:
    assert not KEYS.accepts_head("database", Head(), b"")
    assert RING.signing == KEY


async def test_records_with_a_wrong_clock_are_found_however_far_away_they_are(
    database_url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ranges", "chain_reader"):
        monkeypatch.setattr(f"sluicegate.audit.reading.{module}.MARGIN", 2)
    async with opened(database_url) as log:
        await write_all(log, [50, *range(8), 60, *range(8, 16), 3])
    for since, until, expected in (
        (numbered(50).at, None, ["r60", "r50"]),
        (None, numbered(5).at, ["r3", "r4", "r3", "r2", "r1", "r0"]),
        (numbered(14).at, numbered(55).at, ["r15", "r14", "r50"]),
        (None, numbered(0).at, []),
        (numbered(61).at, None, []),
    ):
        found = await _searched(store, since=since, until=until)
        assert [each.record.request_id for each in found] == expected
