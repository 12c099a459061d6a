"""What transactions promise, on both databases."""

from __future__ import annotations

import asyncio
import sys

import pytest
from sqlalchemy import func, insert, select, text
from support.process.random_cases import times

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.tables import shares


def _share(name: str) -> dict[str, object]:
    return {"id": name, "key": name, "name": name, "properties": {}}


async def _count(store: Store) -> int:
    async with store.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(shares))).scalar_one())


async def test_each_write_bumps_the_revision(store: Store) -> None:
    for expected in (1, 2, 3):
        async with store.write():
            pass
        assert await store.revision() == expected


async def test_a_block_that_raises_writes_nothing(store: Store) -> None:
    async def fail_midway() -> None:
        async with store.write() as connection:
            await connection.execute(insert(shares).values(_share("a")))
            raise LookupError

    with pytest.raises(LookupError):
        await fail_midway()
    assert (await _count(store), await store.revision()) == (0, 0)


async def test_a_block_that_rolls_back_writes_nothing(store: Store) -> None:
    async with store.write() as connection:
        await connection.execute(insert(shares).values(_share("a")))
        await connection.rollback()
    assert (await _count(store), await store.revision()) == (0, 0)


async def test_writers_run_one_after_the_other(store: Store) -> None:
    async def add_one() -> None:
        async with store.write() as connection:
            count = (await connection.execute(select(func.count()).select_from(shares))).scalar_one()
            await asyncio.sleep(0.01)
            await connection.execute(insert(shares).values(_share(f"share-{count}")))

    await asyncio.gather(*(add_one() for _ in range(6)))
    assert (await _count(store), await store.revision()) == (6, 6)


async def test_a_reader_sees_one_state_while_others_write(store: Store) -> None:
    async with store.read() as connection:
        before = (await connection.execute(select(func.count()).select_from(shares))).scalar_one()
        async with store.write() as writer:
            await writer.execute(insert(shares).values(_share("a")))
        after = (await connection.execute(select(func.count()).select_from(shares))).scalar_one()
    assert (before, after) == (0, 0)
    assert await _count(store) == 1


async def test_removing_a_share_removes_what_is_in_it(store: Store) -> None:
    async with store.write() as connection:
        await connection.execute(insert(shares).values(_share("a")))
        await connection.execute(
            text("INSERT INTO schemas (id, share_id, key, name) VALUES ('s', 'a', 's', 's')")
        )
        await connection.execute(text("DELETE FROM shares"))
        left = (await connection.execute(text("SELECT count(*) FROM schemas"))).scalar_one()
    assert left == 0


async def test_a_failing_statement_is_unavailable_without_its_parameters(store: Store) -> None:
    with pytest.raises(Unavailable) as raised:
        async with store.read() as connection:
            await connection.execute(text("SELECT :secret FROM nowhere"), {"secret": "s3cret"})
    assert "nowhere" in str(raised.value.detail)
    assert "s3cret" not in f"{raised.value.detail}{raised.value.__cause__}{raised.value}"


async def test_a_read_that_takes_too_long_is_given_up(store: Store) -> None:
    with pytest.raises(Unavailable):
        async with store.read(timeout=0.01):
            await asyncio.sleep(30)
    await store.ping()


CANCELLED = """
import asyncio, sys, anyio
from sluicegate.database import Store

async def write(store):
    while True:
        async with store.write():
            pass

async def main(url, step):
    store = await Store.open(url)
    for delay in range(0, 40, int(step)):
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(write, store)
            await anyio.sleep(delay / 1000)
            group.cancel_scope.cancel()
    await store.revision()
    await store.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}

asyncio.run(main(*sys.argv[1:]))
"""


async def test_cancelled_transactions_leave_nothing_that_runs_on(database_url: str) -> None:
    """In a process of its own: it would not end either."""
    step = 1 if times() > 1 else 4  # milliseconds
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CANCELLED, database_url, str(step)), stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await asyncio.wait_for(done.communicate(), 120)
    finally:
        if done.returncode is None:
            done.kill()
    assert (done.returncode, said.decode()) == (0, "")
