"""The peer: a queue with one table and nothing else, by the driver alone, as small queues do it."""

from __future__ import annotations

import time
from uuid import uuid4

import asyncpg

from benchmarks.support.processes import Begin

CREATE = """
CREATE TABLE bare_tasks (
    id uuid PRIMARY KEY,
    priority integer NOT NULL,
    payload jsonb NOT NULL,
    status text NOT NULL,
    due_at bigint
);
CREATE INDEX ON bare_tasks (priority, due_at) WHERE status = 'waiting';
"""
FILL = """
INSERT INTO bare_tasks
SELECT gen_random_uuid(), 5, '{"table": "T1"}', 'done', i FROM generate_series(1, $1::integer) AS i
"""
_INSERT = "INSERT INTO bare_tasks VALUES ($1, 5, $2, 'waiting', 1)"
_PICK = """
SELECT id, payload FROM bare_tasks WHERE status = 'waiting'
ORDER BY priority, due_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""
_BEAT = "UPDATE bare_tasks SET due_at = $2 WHERE id = $1"
_PRUNE = """
DELETE FROM bare_tasks WHERE id IN (SELECT id FROM bare_tasks WHERE status = 'done' LIMIT 500)
"""
_TAKE = "UPDATE bare_tasks SET status = 'running' WHERE id = $1"


async def submit(url: str, number: int, begin: Begin, tasks: int) -> int:
    """Store tasks, each in a transaction of its own."""
    connection = await asyncpg.connect(url)
    begin()
    for _ in range(tasks):
        await connection.execute(_INSERT, uuid4(), '{"table": "T1"}')
    await connection.close()
    return tasks


async def acquire(url: str, number: int, begin: Begin) -> int:
    """Take tasks until none is left."""
    connection = await asyncpg.connect(url)
    begin()
    taken = 0
    while True:
        async with connection.transaction():
            row = await connection.fetchrow(_PICK)
            if row is None:
                break
            await connection.execute(_TAKE, row["id"])
        taken += 1
    await connection.close()
    return taken


async def beat(url: str, number: int, begin: Begin, of: int) -> int:
    """Update a part of the tasks that run, each in a transaction of its own."""
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT id FROM bare_tasks WHERE status = 'running' ORDER BY id")
    begin()
    for row in rows[number::of]:
        await connection.execute(_BEAT, row["id"], number)
    await connection.close()
    return len(rows[number::of])


async def prune(url: str) -> float:
    """Delete all that is done, 500 in a transaction; how many in a second."""
    connection = await asyncpg.connect(url)
    begun, deleted = time.monotonic(), 0
    while some := int((await connection.execute(_PRUNE)).removeprefix("DELETE ")):
        deleted += some
    await connection.close()
    return deleted / (time.monotonic() - begun)
