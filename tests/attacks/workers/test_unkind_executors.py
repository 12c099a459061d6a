"""Executors are not trusted: however one ends, its attempt fails with a code and its worker goes on."""

from __future__ import annotations

import pytest
from support.servers.delegation import Desk, payload
from support.tasks.unkind_executors import EXPECTED, Unkind

LINE = 40_000
pytestmark = pytest.mark.parametrize(
    "database_url",
    [
        "postgresql",
        pytest.param(
            "sqlite", marks=pytest.mark.night("test_every_unkind_end_is_a_failed_attempt_with_a_code")
        ),
    ],
    indirect=True,
)


async def test_every_unkind_end_is_a_failed_attempt_with_a_code(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = {name: (await desk.queue.submit(payload(name), "polaris")).id for name in EXPECTED}
    tasks["kind"] = (await desk.queue.submit(payload("kind", priority=9), "polaris")).id
    async with desk.working(Unkind()):
        ended = {name: await desk.ended(task_id) for name, task_id in tasks.items()}
    kind = ended.pop("kind")
    assert kind.result == {"files_deleted": 1, "bytes_deleted": 2**62}
    assert {name: task.error_code for name, task in ended.items()} == EXPECTED
    for name, task in ended.items():
        assert task.attempt_count <= 2, name
        assert task.version <= 2 + 3 * task.attempt_count, f"{name}: it was tried in a hot loop"
        assert 0 < len(task.result_summary) < 10_000, name
    assert "waits for the database" not in caplog.text
    assert max(map(len, caplog.text.splitlines())) < LINE
