"""Gates in the database at which a chosen worker waits, just before it records something about a task.

The worker is none the wiser: a trigger of its PostgreSQL takes a lock that a test may hold.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sluicegate_spark.purge.stages import CONTENT, LISTS, MANIFESTS, METADATA, OLD_METADATA

STAGES = (CONTENT, MANIFESTS, LISTS, OLD_METADATA, METADATA)
# What a worker is at with a task, each up to the moment when it records that; the trigger counts them.
PARTS = ("acquiring", *STAGES, "end")
FIRST = PARTS[0]
_LOOK_SECONDS = 0.03
_TRIGGER = """
CREATE TABLE takeovers (task_id text, lost_at bigint, taken_at bigint);
CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part int := CASE
    WHEN NEW.status = 'SUCCESS' THEN 6
    WHEN NEW.status = 'RUNNING' AND OLD.status <> 'RUNNING' THEN 0
    WHEN json_array_length(NEW.stages) > json_array_length(OLD.stages)
        THEN json_array_length(NEW.stages) END;
BEGIN
    IF part IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock_shared(
            part, substring(NEW.leased_by from '-([0-9]+)-[0-9a-f]+$')::int);
    END IF;
    IF OLD.leased_by <> NEW.leased_by AND OLD.status IN ('ACQUIRING_RESOURCES', 'RUNNING') THEN
        INSERT INTO takeovers VALUES (NEW.id, OLD.due_at, NEW.lease_acquired_at);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gate BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION pass_gate();
"""
_IS_REACHED = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
AND classid = $1::int::oid AND objid = $2::int::oid
"""
_UNFINISHED = "SELECT count(*) FROM tasks WHERE status NOT IN ('SUCCESS', 'FAILURE')"


async def build_gates(connection: Any) -> None:
    """Let the tasks of a database pass gates, and keep a list of leases that were taken over."""
    await connection.execute(_TRIGGER)


class Gate:
    """A gate of one worker, open at first."""

    def __init__(self, connection: Any, pid: int) -> None:
        self._connection = connection
        self._pid = pid
        self._closed: str | None = None

    async def close(self, part: str) -> None:
        """Let the worker wait before it records a part, and nowhere else."""
        if part != self._closed:
            before = self._closed
            await self._lock("pg_advisory_lock", part)
            if before is not None:
                await self._lock("pg_advisory_unlock", before)
            self._closed = part

    async def open(self) -> None:
        """Let it through."""
        if self._closed is not None:
            await self._lock("pg_advisory_unlock", self._closed)
            self._closed = None

    async def is_reached(self) -> bool:
        """Wait until the worker waits at it; `False` where all tasks end before it does."""
        assert self._closed is not None
        while not await self._connection.fetchval(_IS_REACHED, PARTS.index(self._closed), self._pid):
            if not await self._connection.fetchval(_UNFINISHED):
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    async def _lock(self, function: str, part: str) -> None:
        await self._connection.execute(f"SELECT {function}($1, $2)", PARTS.index(part), self._pid)
