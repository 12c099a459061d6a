"""Signatures for a recipient, table and address within a minute have one record."""

from __future__ import annotations

from dataclasses import replace

from support.gateways.memory_gateway import catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import RIVAL
from support.process.clock import Clock

from sluicegate.protocols.iceberg_rest.file_access.recent_records import RecentRecords


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
