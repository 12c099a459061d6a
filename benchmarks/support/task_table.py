"""A table with a million tasks that have ended, its sizes, and what the lease query costs in it."""

from __future__ import annotations

import json

import asyncpg
import orjson
from sqlalchemy import literal
from sqlalchemy.dialects import postgresql

from benchmarks.support.task_queue import document
from sluicegate._util.clock import epoch_ms
from sluicegate.delegation.queue.statements import candidate
from sluicegate.delegation.task_payload import PURGE

_ENDED = """
INSERT INTO tasks (id, version, operation, realm, correlation_id, submitted_by, digest, priority,
    payload, status, received_at, created_at, status_changed_at, attempt_count, lease_acquired_at,
    leased_by, stages, progress, result, result_summary)
SELECT gen_random_uuid()::text, 4, 'TABLE_PURGE', 'realm-' || i % 100, gen_random_uuid()::text,
    'polaris', decode(md5(i::text) || md5(i::text), 'hex'), 5, $2::json, 'SUCCESS',
    i, i, i + 9000, 1, i + 5000, 'worker-7-4711-0a1b2c3d',
    '["content", "manifests", "manifest-lists", "metadata"]',
    '{"stage": "metadata", "files_done": 2100, "files_total": 2100, "bytes_done": 123456789}',
    '{"files_deleted": 2100, "bytes_deleted": 123456789}', 'the table was purged'
FROM generate_series(1, $1::integer) AS i
"""
_CROWD = """
INSERT INTO tasks (id, version, operation, realm, submitted_by, digest, priority, payload, status,
    received_at, created_at, status_changed_at, attempt_count, due_at, stages)
SELECT gen_random_uuid()::text, 1, $3, $2, 'polaris', '', 1, '{}', 'SUBMITTED', $4, $4, $4, 0, $4, '[]'
FROM generate_series(1, $1::integer) AS i
"""
_VERSIONS = """
INSERT INTO task_versions (task_id, version, status, attempt_count, status_changed_at, leased_by)
SELECT id, version, (ARRAY['SUBMITTED', 'ACQUIRING_RESOURCES', 'RUNNING', 'SUCCESS'])[version],
    1, received_at + version * 1000, 'worker-7-4711-0a1b2c3d'
FROM (SELECT id, received_at FROM tasks WHERE status = 'SUCCESS') AS ended,
    generate_series(1, 4) AS version
"""


async def fill(url: str, tasks: int) -> None:
    """Store tasks that have ended, with their histories."""
    connection = await asyncpg.connect(url)
    payload = orjson.dumps(document("T1", "realm-1")).decode()
    await connection.execute(_ENDED, tasks, payload, timeout=1800)
    await connection.execute(_VERSIONS, timeout=1800)
    await connection.execute("VACUUM ANALYZE tasks", timeout=600)
    await connection.execute("VACUUM ANALYZE task_versions", timeout=600)
    # What is measured afterwards shall not write this to the disk.
    await connection.execute("CHECKPOINT", timeout=600)
    await connection.close()


async def crowd(url: str, tasks: int, realm: str) -> None:
    """Let tasks of one realm wait that are more urgent than all others."""
    connection = await asyncpg.connect(url)
    await connection.execute(_CROWD, tasks, realm, PURGE, epoch_ms(), timeout=600)
    await connection.execute("VACUUM ANALYZE tasks", timeout=600)
    await connection.close()


async def sizes(url: str, tasks: int) -> dict[str, float]:
    """Bytes a task, of rows and of indexes."""
    connection = await asyncpg.connect(url)
    found: dict[str, float] = {}
    for table in ("tasks", "task_versions"):
        rows = await connection.fetchval("SELECT pg_table_size($1::text::regclass)", table)
        indexes = await connection.fetchval("SELECT pg_indexes_size($1::text::regclass)", table)
        found |= {
            f"{table}_row_bytes_a_task": rows / tasks,
            f"{table}_index_bytes_a_task": indexes / tasks,
        }
    await connection.close()
    return found


async def lease_query(url: str) -> float:
    """Milliseconds of the lease query, as the server counts them."""
    query = (
        candidate(literal(1 << 60), "sqlite", of_realm=False)
        .params({"operations": [PURGE]})
        .compile(
            dialect=postgresql.dialect(),  # type: ignore[no-untyped-call]
            compile_kwargs={"literal_binds": True},
        )
    )
    connection = await asyncpg.connect(url)
    plans = [
        json.loads(await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"))
        for _ in range(5)
    ]
    await connection.close()
    return min(float(plan[0]["Execution Time"]) for plan in plans)
