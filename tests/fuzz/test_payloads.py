"""Payloads of delegated tasks, damaged at random: taken, or refused in words."""

from __future__ import annotations

import asyncio
import copy
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import orjson
from support.fuzz import fuzz_values as values
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
from sluicegate.config.delegation import DelegationSettings
from sluicegate.database import Store

# 20,000 take some minutes.
_CASES = int(os.environ.get("SLUICEGATE_FUZZ_CASES", "400"))
_SEED = int(os.environ.get("SLUICEGATE_FUZZ_SEED", "11"))
_AT_ONCE = 20  # synchronous requests
_STATUSES = (200, 202, 400, 403, 404, 409, 413)
_MOST_SHOWN = 10_000  # characters of an answer
_MARKER = "here-is-the-value"
_ODD: Sequence[Any] = (
    *(None, True, 0, -1, 9, 10, 1.5, 1e300, [], {}, [[]], {"": ""}, ["a", 1, None], *values.INTEGERS),
    *(*values.NAMES, *values.NUMERALS, *values.TIMESTAMPS, "TABLE_PURGE", "prod", CATALOG),
    *("s3://lake/a", "s3://other/a", "s3://lake/../x", "s3://", "file:///etc/passwd"),
    *({"location": "s3://lake/x"}, {"write.data.path": "s3://other/"}, [{"prefix": "s3://other/"}]),
)
# Texts of JSON that no library writes.
_LITERALS = (
    *(literal.encode("utf-8") for literal in values.LITERALS),
    *(b"\xff", b'"\xc0\xaf"', b'"\xed\xa0\x80"', b"\x00", b"NaN", rb'"\udc00"', rb'"\u0000\ud83d"'),
    *(b"9" * 20_000, b"-" + b"9" * 400, b"1e99999", b"0." + b"1" * 5_000, b'"' + b"x" * 70_000 + b'"'),
    *(b"[" * 99 + b"]" * 99, b'{"a":' * 95 + b"1" + b"}" * 95, b"[" + b"0," * 50_000 + b"0]"),
    *(
        b"{" + b'"location":"s3://x/",' * 9_000 + b'"a":1}',
        b'["s3://other/"]',
        b'"' + rb"\n" * 3_000 + b'"',
    ),
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig", "latin-1")
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


def _containers(value: Any) -> list[Any]:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inner = [found for each in members for found in _containers(each)]
    return ([value] if isinstance(value, dict | list) and value else []) + inner


def _changed(document: Any, dice: random.Random, value: Any) -> None:
    """Replace, leave out, rename or add one member somewhere in a document."""
    target = dice.choice(_containers(document))
    key = dice.choice(list(target)) if isinstance(target, dict) else dice.randrange(len(target))
    change = dice.random()
    if change < 0.6:
        target[key] = value
    elif change < 0.7:
        del target[key]
    elif isinstance(target, list):
        target.append(value)
    elif change < 0.8:
        target[dice.choice(values.NAMES)] = target.pop(key)
    else:
        target[dice.choice((*values.NAMES, "location", "statistics-path", "extra", "metadata"))] = value


def _with_values(dice: random.Random) -> bytes:
    document = _valid(dice)
    for _ in range(dice.randint(0, 3)):
        if _containers(document):
            _changed(document, dice, copy.deepcopy(dice.choice(_ODD)))
    return orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS) if _fits(document) else b"{}"


def _fits(value: Any) -> bool:
    """Whether this library writes all integers of it."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def _with_literal(dice: random.Random) -> bytes:
    document = _valid(dice)
    _changed(document, dice, _MARKER)
    return orjson.dumps(document).replace(f'"{_MARKER}"'.encode(), dice.choice(_LITERALS))


def _with_bytes(dice: random.Random) -> bytes:
    data = bytearray(orjson.dumps(_valid(dice)))
    for _ in range(dice.randint(1, 4)):
        place, change = dice.randrange(len(data)), dice.random()
        if change < 0.4:
            data[place] = dice.randrange(256)
        elif change < 0.6:
            del data[place : place + dice.randint(1, 50)]
        elif change < 0.8:
            data[place:place] = data[place : place + dice.randint(1, 200)]
        else:
            data[place:place] = dice.choice((b'"', b"{", b"]", b"\\u0000", b"\\ud800", b",", b"\xff"))
        data = data or bytearray(b" ")
    return bytes(data)


def _reencoded(dice: random.Random) -> bytes:
    return orjson.dumps(_valid(dice)).decode().encode(dice.choice(_ENCODINGS))


def _whole(dice: random.Random) -> bytes:
    return dice.choice((*_LITERALS, b"", b"null", b"[]", b"{}", dice.randbytes(300)))


_KINDS: Sequence[Callable[[random.Random], bytes]] = (
    *(_with_values,) * 4,
    *(_with_literal,) * 3,
    *(_with_bytes,) * 2,
    _reencoded,
    _whole,
)


async def test_damaged_payloads_are_taken_or_refused(tmp_path: Path) -> None:
    dice, early, statuses = random.Random(_SEED), 0, Counter[int]()
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    desk = Desk(store, DelegationSettings(), RunningClock())
    async with (
        aclosing(store),
        running_service(desk, FolderPurge(tmp_path), with_worker=False) as service,
    ):
        for case in range(_CASES):
            content = dice.choice(_KINDS)(dice)
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
            contents = [dice.choice(_KINDS)(dice) for _ in range(_AT_ONCE)]
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
