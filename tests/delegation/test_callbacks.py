"""The final state of tasks is pushed until it is taken, to a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import select
from support.servers.delegation import PURGE, Desk, RunningClock, payload

from sluicegate.api import TaskResult
from sluicegate.config.sections.delegation import CallbackSettings
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.callbacks import Callbacks

TOKEN = "a callback token of the tests"


class Receiver(BaseHTTPRequestHandler):
    """Answers with the statuses that are prepared, then with 204."""

    def do_POST(self) -> None:
        server: Any = self.server
        content = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append((self.headers["Authorization"], json.loads(content)))
        self.send_response(server.statuses.pop(0) if server.statuses else 204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def receiver() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.statuses = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def callbacks(desk: Desk, receiver: Any) -> Callbacks:
    url = f"http://127.0.0.1:{receiver.server_port}/done"
    settings = CallbackSettings.model_validate({"url": url, "token": TOKEN})
    return Callbacks(desk.store, settings, now=desk.clock.now)


async def end_one(desk: Desk) -> str:
    task = await desk.queue.submit(payload(correlation_id="one"), "polaris")
    leased = await desk.leases.acquire("w", [PURGE])
    assert leased is not None
    await desk.leases.succeed(await desk.leases.start(leased), TaskResult("done", 3, 30))
    return task.id


async def test_an_ended_task_is_pushed_once(desk: Desk, receiver: Any) -> None:
    pushed = callbacks(desk, receiver)
    assert not await pushed.push_one()
    task_id = await end_one(desk)
    assert await pushed.push_one()
    assert not await pushed.push_one()
    [(authorization, record)] = receiver.got
    assert authorization == f"Bearer {TOKEN}"
    assert (record["task_id"], record["status"]) == (task_id, "SUCCESS")
    assert record["execution_result"] == {"files_deleted": 3, "bytes_deleted": 30}


async def test_a_push_that_is_not_taken_is_repeated_for_a_day(
    desk: Desk, clock: RunningClock, receiver: Any
) -> None:
    pushed = callbacks(desk, receiver)
    await end_one(desk)
    receiver.statuses = [500, 302]
    for expected in (1, 2, 3, 3):
        await pushed.push_one()
        assert not await pushed.push_one()
        assert len(receiver.got) == expected
        clock.advance(61)


async def test_a_push_that_nobody_takes_is_given_up(
    desk: Desk, clock: RunningClock, receiver: Any
) -> None:
    pushed = callbacks(desk, receiver)
    await end_one(desk)
    clock.advance(86_401)
    assert not await pushed.push_one()
    assert receiver.got == []
    async with desk.store.read() as connection:
        waiting = await connection.execute(select(tasks.c.callback_due_at))
    assert waiting.scalars().all() == [None]
