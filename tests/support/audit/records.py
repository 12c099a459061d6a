"""Records of an audit log, and logs that are opened without a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from sluicegate.api import Event
from sluicegate.audit.assembly import audit_log, chain_keys
from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.encoding import unpack
from sluicegate.audit.reading.query import StoredRecord, stored_record
from sluicegate.audit.records import AuditLog, AuditRecord
from sluicegate.audit.sinks.database.reading import blocks_from, chain_numbers
from sluicegate.audit.verification.database import verify_database
from sluicegate.audit.verification.findings import ChainFinding
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing

KEY = b"the first key, which is long enough"
RING = KeyRing((KEY,))
KEYS = ChainKeys(RING)
EXAMPLE = AuditRecord(
    at=4_102_444_800_000,  # in the year 2100, so that no gateway deletes it
    request_id="b5c1",
    actor_kind="recipient",
    actor="acme",
    actor_id="0f0e",
    method="bearer",
    address="192.0.2.7",
    action="queryTable",
    resource="sales.eu.orders",
    outcome="allowed",
    status=200,
    rule="grant",
    issued={"kind": "urls", "files": 3},
    share="sales",
)


def numbered(number: int, **values: Any) -> AuditRecord:
    """A record whose request id is a number."""
    return replace(EXAMPLE, request_id=f"r{number}", at=EXAMPLE.at + number, **values)


def settings(url: str, audit: Any = None, **more: Any) -> Settings:
    """Settings of a gateway with this database and section `audit`."""
    section = {} if audit is None else {"audit": audit}
    return Settings(database=SecretStr(url), **section, **more)


def ignore(_: Event) -> None:
    """Ignore an event."""


@asynccontextmanager
async def opened(
    url: str,
    audit: Any = None,
    *,
    keys: KeyRing = RING,
    notify: Callable[[Event], None] = ignore,
) -> AsyncIterator[AuditLog]:
    """A log with its own store, as a process of a gateway has it."""
    configured = settings(url, audit)
    store = await Store.open(url)
    try:
        async with audit_log(configured, keys, store, notify) as log:
            yield log
    finally:
        await store.aclose()


async def write_all(log: AuditLog, numbers: Sequence[int], **values: Any) -> None:
    """Write records one after the other."""
    for number in numbers:
        await log.write(numbered(number, **values))


async def finding_in(store: Store, keys: ChainKeys = KEYS) -> ChainFinding | None:
    """What verification finds first in the chains of a database."""
    results = await verify_database(store, keys)
    return next((each.finding for each in results if each.finding is not None), None)


async def lines_in(store: Store) -> list[bytes]:
    """The lines of all chains of a database, each chain in its order."""
    return [
        line
        for chain in await chain_numbers(store)
        async for block in blocks_from(store, chain)
        for line in unpack(block.records)
    ]


async def records_in(store: Store) -> list[StoredRecord]:
    """The records of all chains of a database, each chain in its order."""
    return [stored_record(line) for line in await lines_in(store)]


def keys_of(configured: Settings, ring: KeyRing = RING) -> ChainKeys:
    """The keys of the chains of a gateway."""
    return chain_keys(configured.audit, ring)
