"""Payloads of delegated tasks, damaged at random: taken, or refused in words."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
from support.fuzz import fuzz_values as values
from support.fuzz.damaged_json import KINDS
from support.process.process_memory import resident_bytes
from support.servers.delegation import (
    API,
    CATALOG,
    Desk,
    FolderPurge,
    RunningClock,
    Service,
    body,
    running_service,
)

from sluicegate.api import DelegatedTask, TaskExecutor, TaskResult, TaskRun
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store

# 20,000 take some minutes.
_CASES = int(os.environ.get("SLUICEGATE_FUZZ_CASES", "100"))
_SEED = int(os.environ.get("SLUICEGATE_FUZZ_SEED", "11"))
_AT_ONCE = 20  # synchronous requests
_STATUSES = (200, 202, 400, 403, 404, 409, 413)
_MOST_SHOWN = 10_000  # characters of an answer
_ODD: Sequence[Any] = (
    *(None, True, 0, -1, 9, 10, 1.5, 1e300, [], {}, [[]], {"": ""}, ["a", 1, None], *values.INTEGERS),
    *(*values.NAMES, *values.NUMERALS, *values.TIMESTAMPS, "TABLE_PURGE", "prod", CATALOG),
    *("s3://lake/a", "s3://other/a", "s3://lake/../x", "s3://", "file:///etc/passwd"),
    *({"location": "s3://lake/x"}, {"write.data.path": "s3://other/"}, [{"prefix": "s3://other/"}]),
)
_QUERIES = ("", "", "", "?status_names=asynchronous", "?status_names=%00", "?x=" + "y" * 3_000)


def _valid(dice: random.Random) -> dict[str, Any]:
    number = dice.randrange(5_000)
    credentials: dict[str, Any] = {"storage-credentials": [{"prefix": "s3://lake/t/", "config": {}}]}
    return body(
        f"t{number}",
        correlation_id=f"c-{number}",
        priority=3,
        metadata_location="s3://lake/t/m.json",
        metadata={
            "location": "s3://lake/t",
            "table-uuid": "u",
            "format-version": 2,
            "properties": {"write.data.path": "s3://lake/t/data"},
            "snapshots": [{"snapshot-id": 1, "manifest-list": "s3://lake/t/l"}],
        },
        config={"s3.access-key-id": "key"},
        properties={"drop_catalog_entry": "true"},
        **credentials,
    )


def _payload(dice: random.Random) -> bytes:
    return dice.choice(KINDS)(_valid(dice), dice, _ODD)


async def test_damaged_payloads_are_taken_or_refused(tmp_path: Path) -> None:
    dice, early, statuses = random.Random(_SEED), 0, Counter[int]()
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    desk = Desk(store, DelegationSettings(), RunningClock())
    async with (
        aclosing(store),
        running_service(desk, FolderPurge(tmp_path), with_worker=False) as service,
    ):
        for case in range(_CASES):
            content = _payload(dice)
            try:
                answer = await _post(service, content, dice)
                _judge(answer)
            except Exception as error:  # whatever else comes is what this looks for
                error.add_note(f"case {case}: {content[:3000]!r}")
                raise
            statuses[answer.status_code] += 1
            if case == min(1000, _CASES // 2):
                early = resident_bytes()
        listed = await service.get("", limit=1000)
    assert listed.status_code == 200
    assert statuses.keys() >= {202, 400, 403}
    print(f"{dict(statuses)}, memory {early} -> {resident_bytes()}")
    assert resident_bytes() <= 1.1 * early


class _Nothing(TaskExecutor):
    """Succeeds at once, whatever the table is called."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Do nothing."""
        return TaskResult("nothing was done")


async def test_damaged_payloads_are_executed_or_refused(tmp_path: Path) -> None:
    dice, statuses = random.Random(_SEED), Counter[int]()
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    desk = Desk(store, DelegationSettings(), RunningClock())
    retry = {"max_attempts": 1}  # what fails is answered, and not tried again
    async with aclosing(store), running_service(desk, _Nothing(), retry=retry) as service:
        for _ in range(_CASES // _AT_ONCE // 2):
            contents = [_payload(dice) for _ in range(_AT_ONCE)]
            executed = [_execute(service, content) for content in contents]
            statuses += Counter(await asyncio.gather(*executed))
    assert statuses.keys() >= {200, 400, 403}


async def _execute(service: Service, content: bytes) -> int:
    answer = await service.http.post(f"{API}/v1/tasks/execute/synchronous", content=content)
    try:
        _judge(answer)
    except Exception as error:
        error.add_note(repr(content[:3000]))
        raise
    return answer.status_code


async def _post(service: Service, content: bytes, dice: random.Random) -> httpx.Response:
    url = f"{API}/v1/tasks{dice.choice(_QUERIES)}"
    kind = dice.choice(("application/json", "text/plain", "application/json; charset=utf-16", ""))
    answer = await service.http.post(url, content=content, headers={"Content-Type": kind})
    if answer.status_code == 202:  # what was taken can be shown
        shown = await service.get(f"/{answer.json()['delegation_task_id']}")
        assert shown.status_code == 200, shown.text[:500]
    return answer


def _judge(answer: httpx.Response) -> None:
    assert answer.status_code in _STATUSES, answer.text[:500]
    assert len(answer.text) < _MOST_SHOWN, answer.text[:500]
    if answer.status_code >= 400:
        said = answer.json()
        assert said.keys() - {"delegation_task_id"} == {"error_code", "message"}
        assert said["error_code"]
        assert said["message"]
        assert not re.search("Traceback|pydantic|orjson", said["message"])
