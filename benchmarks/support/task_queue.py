"""What submitters and workers of the delegation service do in the benchmark `tasks`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from sqlalchemy import select

from benchmarks.support.processes import Begin
from sluicegate.api.delegation.tasks import TaskProgress
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.retention import Retention
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.task_payload import PURGE, TaskPayload
from sluicegate.signing.keyring import KeyRing

_ANY_NUMBER = 1_000_000
FULL = "realm-at-its-limit"


def document(table: str, realm: str) -> dict[str, Any]:
    """A payload as the document's example has it: without credentials."""
    return {
        "common_payload": {
            "operation_type": PURGE,
            "request_timestamp_utc": "2025-06-11T16:21:00Z",
            "realm_identifier": realm,
            "polaris_correlation_id": f"drop-{table}-request-uuid-1234",
        },
        "operation_parameters": {
            "table_identity": {
                "table_entity_id": f"polaris-entity-id-for-{table}",
                "catalog_name": "prod_catalog",
                "namespace_levels": ["NS1", "NESTED1"],
                "table_name": table,
            },
            "metadata_location": f"s3://acme-lake/prod/NS1/{table}/metadata/00042-a.metadata.json",
            "properties": {"skipTrash": "true", "deleteMarkerFiles": "false"},
        },
    }


async def submit(url: str, number: int, begin: Begin, count: int, realms: int) -> int:
    """Hand tasks over, spread over realms."""
    documents = (
        document(f"T{number}-{each}-of-{realms}", f"realm-{each % realms}") for each in range(count)
    )
    payloads = [TaskPayload.parse(orjson.dumps(each)) for each in documents]
    async with _store(url) as store:
        queue = TaskQueue(
            store, PayloadCipher(KeyRing((b"a key of the benchmark, as long as others",)))
        )
        begin()
        for payload in payloads:
            await queue.submit(payload, "polaris")
    return count


async def acquire(url: str, number: int, begin: Begin) -> int:
    """Lease tasks until none is left."""
    async with _store(url) as store:
        begin()
        return len(await _leased(_leases(store), number))


async def beat(url: str, number: int, begin: Begin) -> int:
    """Give a sign of life for each task that this worker has leased."""
    async with _store(url) as store:
        held = tasks.c.due_at.is_not(None) & (tasks.c.leased_by == _name(number))
        async with store.read() as connection:
            rows = await connection.execute(select(tasks).where(held))
            leased = [TaskRecord.of(row) for row in rows]
        leases = _leases(store)
        begin()
        for done, task in enumerate(leased):
            await leases.beat(task, TaskProgress("content", done, len(leased), done * 1000))
    return len(leased)


async def prune(url: str) -> float:
    """Forget all tasks that have ended; how many in a second."""
    async with _store(url) as store:
        begun = time.monotonic()
        return await Retention(store, 0).prune() / (time.monotonic() - begun)


async def _leased(leases: Leases, number: int) -> list[TaskRecord]:
    found = []
    while (task := await leases.acquire(_name(number), [PURGE])) is not None:
        found.append(task)
    return found


def _name(worker: int) -> str:
    return f"worker-{worker}"


def _leases(store: Store) -> Leases:
    return Leases(store, DelegationSettings(max_running_per_realm=_ANY_NUMBER, realm_limits={FULL: 1}))


@asynccontextmanager
async def _store(url: str) -> AsyncIterator[Store]:
    store = await Store.open(url)
    try:
        await store.ping()
        yield store
    finally:
        await store.aclose()
