"""A process that is killed loses no record of a request that got its response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.audit.records import KEYS, finding_in, records_in
from support.audit.writer import start_writer
from support.process.random_cases import times

from sluicegate.audit.reading.query import stored_record
from sluicegate.audit.verification.files import verify_path
from sluicegate.database import Store

# Acknowledged records after which a process is killed: with 8 clients, at another place of a write.
_KILLED_AFTER = (1, 7, 20, 45) if times() > 1 else (1, 20)


@asynccontextmanager
async def _killed(url: str, first: int, after: int, audit: object = None) -> AsyncIterator[set[str]]:
    """What a process had acknowledged when it was killed."""
    process = await start_writer(url, first, audit=audit)
    assert process.stdout is not None
    acknowledged = [await process.stdout.readline() for _ in range(after)]
    process.kill()
    acknowledged += (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    yield {line.decode().strip() for line in acknowledged if line.endswith(b"\n")}


async def _kill_often(url: str, audit: object = None) -> set[str]:
    """What processes acknowledged, two at a time, until each was killed."""
    acknowledged: set[str] = set()

    async def run(first: int) -> None:
        for number, after in enumerate(_KILLED_AFTER):
            async with _killed(url, first + number * 10_000, after, audit) as mine:
                acknowledged.update(mine)

    await asyncio.gather(run(0), run(1_000_000))
    assert len(acknowledged) >= 2 * sum(_KILLED_AFTER)
    return acknowledged


async def test_a_database_contains_what_was_acknowledged(database_url: str) -> None:
    await (await Store.open(database_url)).aclose()
    acknowledged = await _kill_often(database_url)
    store = await Store.open(database_url)
    try:
        assert {each.record.request_id for each in await records_in(store)} >= acknowledged
        assert await finding_in(store) is None
    finally:
        await store.aclose()


async def test_files_contain_what_was_acknowledged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    await (await Store.open(url)).aclose()
    folder = tmp_path / "audit"
    sink = {"type": "file", "path": str(folder), "max_size": "100kB"}
    acknowledged = await _kill_often(url, {"sinks": [sink]})
    lines = [line for file in folder.glob("*.ndjson") for line in file.read_bytes().splitlines()]
    requests = set()
    for line in lines:
        try:
            requests.add(stored_record(line).record.request_id)
        except ValueError:
            continue  # the last line of a process that was killed while it wrote
    assert requests >= acknowledged
    # Two processes at once write two chains. One that starts after the other ended continues its chain.
    findings = [each.finding for each in verify_path(folder, KEYS)]
    assert findings in ([None], [None, None])


@pytest.mark.parametrize("mode", ["required", "best_effort"])
async def test_a_gateway_that_ends_loses_nothing(tmp_path: Path, mode: str) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    process = await start_writer(url, 0, 100, mode)
    output, _ = await process.communicate()
    store = await Store.open(url)
    try:
        assert len(await records_in(store)) == len(output.splitlines()) == 100
        assert await finding_in(store) is None
    finally:
        await store.aclose()
