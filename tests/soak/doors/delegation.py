"""The delegation service: tasks that purge a table, are cancelled, and are run again."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from typing import Any

from soak.delegation import CLIENT
from soak.doors.admin import Admin
from soak.visitor import Operation, Visitor
from support.servers.delegation import API, body, make_table

from sluicegate_testing.secrets import keep_secret

_FILES = 12
_BYTES = 10 * _FILES
_ENDED = ("SUCCESS", "FAILURE")
_DOOR = "delegation: tasks"
_PURGED = {"files_deleted": _FILES, "bytes_deleted": _BYTES}
# One poll a second. All clients together submit less than the worker does in that time.
_POLLS = 120


async def purge(visitor: Visitor) -> None:
    """A purge that is submitted twice and polled deletes one table once."""
    catalog = await _Catalog.logged_in(visitor)
    table, neighbour = _new_table(visitor), _new_table(visitor)
    task = await catalog.submit(table)
    again = await catalog.submit(table)
    visitor.wrong(_DOOR, None if again == task else f"the same request became {task} and {again}")
    record = await catalog.until(task, *_ENDED)
    _check_purged(visitor, table, record)
    left = _files(visitor, neighbour)
    visitor.wrong(_DOOR, None if left == _FILES + 1 else f"another table has {left} files left")


async def purge_at_once(visitor: Visitor) -> None:
    """A request that waits for its task."""
    catalog = await _Catalog.logged_in(visitor)
    table = _new_table(visitor)
    answer = await catalog.ask("POST", "/execute/synchronous", json=catalog.payload(table))
    result = answer.json()["execution_result"]
    visitor.wrong(_DOOR, None if result == _PURGED else f"the result is {answer.text}")
    _check_empty(visitor, table)


async def cancelled(visitor: Visitor) -> None:
    """A task that an administrator cancels leaves its table; it is purged when it is run again."""
    catalog, admin = await _Catalog.logged_in(visitor), Admin(visitor)
    table = _new_table(visitor)
    hold = visitor.site.delegation.lake / table / "held"
    hold.touch()
    task = await catalog.submit(table)
    await catalog.until(task, "RUNNING")
    await admin.ask("POST", f"/tasks/{task}/cancel")
    record = await catalog.until(task, *_ENDED)
    is_cancelled = record["error_code"] == "TASK_CANCELLED"
    visitor.wrong(_DOOR, None if is_cancelled else f"the task is {record}")
    left = _files(visitor, table)
    visitor.wrong(_DOOR, None if left == _FILES + 2 else f"a cancelled purge left {left} files")
    hold.unlink()
    await admin.ask("POST", f"/tasks/{task}/retry")
    _check_purged(visitor, table, await catalog.until(task, *_ENDED))


class _Catalog:
    """Submits tasks as a catalog does, with credentials that must never be shown."""

    def __init__(self, visitor: Visitor, token: str) -> None:
        self._visitor, self._token = visitor, token
        self._vended = f"vended-{secrets.token_hex(16)}"
        keep_secret(self._vended)

    @classmethod
    async def logged_in(cls, visitor: Visitor) -> _Catalog:
        service = visitor.site.delegation
        form = {
            "grant_type": "client_credentials",
            "client_id": CLIENT,
            "client_secret": service.secret,
        }
        url = f"{service.address}{API}/v1/oauth/tokens"
        answer = await visitor.post("delegation: access tokens", url, data=form, token="")
        token: str = answer.json()["access_token"]
        keep_secret(token)
        return cls(visitor, token)

    def payload(self, table: str) -> dict[str, Any]:
        config = {"s3.secret-access-key": self._vended}
        return body(table, correlation_id=table, config=config)

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        url = f"{self._visitor.site.delegation.address}{API}/v1/tasks{path}"
        expected = {200, 202}
        answer = await self._visitor.send(
            _DOOR, method, url, token=self._token, expected=expected, **options
        )
        shown = self._vended in answer.text
        self._visitor.wrong(_DOOR, "an answer has the credentials of a task" if shown else None)
        return answer

    async def submit(self, table: str) -> str:
        answer = await self.ask("POST", "", json=self.payload(table))
        task: str = answer.json()["delegation_task_id"]
        return task

    async def until(self, task: str, *statuses: str) -> dict[str, Any]:
        """The record of a task, once it has one of these statuses."""
        for _ in range(_POLLS):
            record: dict[str, Any] = (await self.ask("GET", f"/{task}")).json()
            if record["status"] in statuses:
                return record
            await asyncio.sleep(1)
        self._visitor.wrong(_DOOR, f"after {_POLLS} polls, the task is {record}")
        raise AssertionError("unreachable")


def _new_table(visitor: Visitor) -> str:
    name = f"T{uuid.uuid4().hex[:16]}"
    make_table(visitor.site.delegation.lake, name, _FILES)
    return name


def _files(visitor: Visitor, table: str) -> int:
    return len(list((visitor.site.delegation.lake / table).iterdir()))


def _check_purged(visitor: Visitor, table: str, record: dict[str, Any]) -> None:
    right = record["status"] == "SUCCESS" and record["execution_result"] == _PURGED
    visitor.wrong(_DOOR, None if right else f"the task is {record}")
    _check_empty(visitor, table)


def _check_empty(visitor: Visitor, table: str) -> None:
    left = _files(visitor, table)
    visitor.wrong(_DOOR, f"a purged table has {left} files left" if left else None)


OPERATIONS = (
    Operation("purge", 1, purge),
    Operation("purge that is waited for", 1, purge_at_once),
    Operation("cancelled purge", 1, cancelled),
)
