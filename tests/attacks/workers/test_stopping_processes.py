"""SIGTERM ends a worker whatever its executors do, and costs no attempt, also sent to its group."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import anyio
import httpx
import pytest
from support.process.installed import Site
from support.servers.delegation import KEY, Desk, payload
from support.servers.delegation_processes import DelegationProcess, delegation_process
from support.tasks.stubborn_plugin import STUBBORN

from sluicegate_testing.secrets import keep_secret

SIGNING_KEY = 2 * KEY.decode()
RELEASED = ("RETRY_SCHEDULED", 0)


class Lake:
    """A configuration with the stubborn executor, and tasks for it."""

    def __init__(self, folder: Path, url: str, desk: Desk) -> None:
        self._folder, self._url, self._desk = folder, url, desk
        self._tasks: dict[str, str] = {}

    def configure(self, **worker: str | int) -> None:
        """Write the configuration."""
        delegation = {
            "realm": "prod",
            "clients": {"polaris": {"secret": {"env": "POLARIS_SECRET"}}},
            "executors": [{"type": "stubborn", "notes": str(self._folder)}],
            "worker": {"poll_interval": "1s", "concurrency": 2, **worker},
        }
        file = self._folder / "gateway.yaml"
        file.touch(0o600)
        keep_secret(SIGNING_KEY)
        database = {"database": self._url, "signing_key": SIGNING_KEY}
        file.write_text(json.dumps({**database, "delegation": delegation}))
        Site(self._folder).install("stubborn", STUBBORN)

    def process(self, *arguments: str) -> AbstractContextManager[DelegationProcess]:
        """A command of its own."""
        return delegation_process(self._folder, self._folder, *arguments)

    async def submit(self, *names: str) -> None:
        """Hand tasks over, by what is to be done."""
        for name in names:
            self._tasks[name] = (await self._desk.queue.submit(payload(name), "polaris")).id

    async def begun(self, *names: str) -> None:
        """Wait until the executor is at it."""
        with anyio.fail_after(30):
            for name in names:
                while not (self._folder / name).exists():  # noqa: ASYNC110 (another process writes it)
                    await anyio.sleep(0.05)

    async def became(self, name: str) -> tuple[str, int]:
        """A task's state, and how many attempts it has used."""
        task = await self._desk.queue.get(self._tasks[name])
        return task.status, task.attempt_count


@pytest.fixture
def lake(tmp_path: Path, database_url: str, desk: Desk) -> Lake:
    return Lake(tmp_path, database_url, desk)


async def test_a_signal_ends_a_worker_whose_executors_ignore_it(lake: Lake) -> None:
    lake.configure(drain_timeout="0s", cancel_timeout="1s")
    await lake.submit("swallow", "thread")
    with lake.process("worker") as worker:
        await lake.begun("swallow", "thread")
        assert await asyncio.to_thread(worker.stop, signal.SIGTERM) == 0
    assert await lake.became("swallow") == await lake.became("thread") == RELEASED
    assert "an executor does not end; it is abandoned" in worker.said()


async def test_a_service_answers_and_ends_while_an_executor_blocks(lake: Lake) -> None:
    lake.configure(drain_timeout="0s", cancel_timeout="1s")
    await lake.submit("block")
    with lake.process("serve", "--port", "0", "--with-worker") as service:
        address = await asyncio.to_thread(service.address)
        await lake.begun("block")
        async with httpx.AsyncClient(base_url=address) as http:
            assert (await http.get(str(http.base_url.join("/livez")))).status_code == 200
        assert await asyncio.to_thread(service.stop, signal.SIGTERM) == 0
    assert await lake.became("block") == RELEASED


async def test_a_signal_to_the_group_costs_no_attempt(lake: Lake) -> None:
    lake.configure(drain_timeout="60s")
    await lake.submit("child", "session")
    with lake.process("worker") as worker:
        await lake.begun("child", "session")
        assert await asyncio.to_thread(worker.stop_group, signal.SIGTERM) == 0
    assert await lake.became("child") == RELEASED
    assert await lake.became("session") == ("SUCCESS", 1)
