"""The document's failure table, case by case, and every status of the synchronous API.

Source: Polaris delegation proposal, "Failure States (Synchronous)" and the OpenAPI's responses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.servers.delegation import (
    FOREIGN_SECRET,
    Desk,
    Failing,
    FolderPurge,
    RunningClock,
    Waiting,
    body,
    make_table,
    payload,
    running_service,
    transient,
)

from sluicegate.api import InvalidRequest, StorageError, TaskExecutor, TaskFailed

SYNCHRONOUS = "/execute/synchronous"
VENDING = TaskFailed("the catalog vends nothing", error_code="CREDENTIAL_VENDING_FAILED")
SIGNED = "https://lake/t?sv=1&sig=c2lnbmVk"
SECRET_WORDS = RuntimeError("cannot log in with password hunter2")


async def test_a_purge_answers_what_was_really_deleted(desk: Desk, tmp_path: Path) -> None:
    make_table(tmp_path, "T1", 20)
    make_table(tmp_path, "T2", 3)
    async with running_service(desk, FolderPurge(tmp_path)) as service:
        answer = await service.post(SYNCHRONOUS, body("T1"))
    assert answer.status_code == 200
    told = answer.json()
    assert told.pop("delegation_task_id")
    assert told == {
        "status": "COMPLETED_SUCCESS",
        "message": "the table was purged",
        "execution_result": {"files_deleted": 20, "bytes_deleted": 200},
    }
    assert list((tmp_path / "T1").iterdir()) == []
    assert len(list((tmp_path / "T2").iterdir())) == 4


async def test_row_1_a_call_that_does_not_arrive_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    make_table(tmp_path, "T1", 2)
    async with running_service(desk, FolderPurge(tmp_path), with_worker=False) as service:
        service.http.headers["Authorization"] = "Bearer a.b.c"
        assert (await service.post(SYNCHRONOUS, body("T1"))).status_code == 401
        await service.log_in()
        assert (await service.get("")).json() == {"tasks": []}
    assert len(list((tmp_path / "T1").iterdir())) == 3


async def test_row_2_credentials_that_are_not_vended_are_a_502(desk: Desk) -> None:
    failing = Failing(VENDING, acquiring=True)
    async with running_service(desk, failing) as service:
        answer = await service.post(SYNCHRONOUS, body())
    told = answer.json()
    task_id = told.pop("delegation_task_id")
    assert (answer.status_code, told) == (
        502,
        {
            "status": "FAILED_TERMINAL",
            "error_code": "CREDENTIAL_VENDING_FAILED",
            "message": "the catalog vends nothing",
            "details": "attempts: 1; stages finished: -",
        },
    )
    assert await desk.statuses(task_id) == ["SUBMITTED", "ACQUIRING_RESOURCES", "FAILURE"]


async def test_row_3_a_purge_that_fails_midway_is_resumed_to_its_end(
    desk: Desk, tmp_path: Path
) -> None:
    make_table(tmp_path, "T1", 10)
    failures = iter([False, False, True])

    def fail_once() -> None:
        if next(failures, False):
            raise transient()

    async with running_service(desk, FolderPurge(tmp_path, fail_once), retry=RETRY_AT_ONCE) as service:
        answer = await service.post(SYNCHRONOUS, body("T1"))
    assert answer.status_code == 200
    task = await desk.queue.get(answer.json()["delegation_task_id"])
    assert (task.attempt_count, task.stages) == (2, ("content",))
    assert list((tmp_path / "T1").iterdir()) == []


async def test_row_3_a_repeat_meanwhile_joins_and_another_request_is_a_409(desk: Desk) -> None:
    waiting = Waiting()
    async with running_service(desk, waiting) as service:
        first = await service.post("", body(correlation_id="drop-1"))
        await waiting.started.wait()
        again = await service.post("", body(correlation_id="drop-1"))
        other = await service.post(SYNCHRONOUS, body(correlation_id="drop-2"))
        waiting.go.set()
        joined = await service.post(SYNCHRONOUS, body(correlation_id="drop-1"))
    task_id = first.json()["delegation_task_id"]
    assert again.json()["delegation_task_id"] == joined.json()["delegation_task_id"] == task_id
    assert other.status_code == 409
    assert (other.json()["error_code"], other.json()["delegation_task_id"]) == ("TABLE_BUSY", task_id)
    assert len(waiting.configs) == 2


async def test_row_4_a_lost_answer_is_given_again_to_a_repeat(desk: Desk, tmp_path: Path) -> None:
    make_table(tmp_path, "T1", 5)
    purge = FolderPurge(tmp_path)
    async with running_service(desk, purge) as service:
        lost = await service.post(SYNCHRONOUS, body("T1", correlation_id="drop-1"))
        repeat = await service.post(SYNCHRONOUS, body("T1", correlation_id="drop-1"))
    assert repeat.json() == lost.json()
    assert purge.attempts == [1]


async def test_row_4_a_worker_lost_after_its_work_lets_another_find_nothing_to_do(
    desk: Desk, clock: RunningClock, tmp_path: Path
) -> None:
    make_table(tmp_path, "T1", 5)
    task_id = None
    async with running_service(desk, Waiting(), with_worker=False) as service:
        task_id = (await service.post("", body("T1"))).json()["delegation_task_id"]
    lost = await desk.leases.acquire("lost", ["TABLE_PURGE"])
    assert lost is not None
    for file in (tmp_path / "T1").iterdir():
        file.unlink()
    clock.advance(3601)
    async with desk.working(FolderPurge(tmp_path)):
        ended = await desk.ended(task_id)
    assert (ended.status, ended.result["files_deleted"]) == ("SUCCESS", 0)


RETRY_AT_ONCE = {"initial_backoff": 0}
CASES: dict[str, tuple[Exception, int, str, int]] = {
    "a wrong payload": (
        TaskFailed("no such property", error_code="INVALID_PAYLOAD"),
        400,
        "INVALID_PAYLOAD",
        1,
    ),
    "a refusal of the core": (InvalidRequest("no such format"), 400, "INVALID_PAYLOAD", 1),
    "the store, forever": (
        StorageError("the store is away", detail=f"connection to 10.0.0.7 refused ({SIGNED})"),
        502,
        "STORAGE_FAILED",
        5,
    ),
    "the engine, forever": (
        TaskFailed(f"no cluster at {SIGNED}", error_code="ENGINE_FAILED", retryable=True),
        502,
        "ENGINE_FAILED",
        5,
    ),
    "what nobody foresaw": (SECRET_WORDS, 500, "INTERNAL_ERROR", 5),
}


DETAILS = {
    "the store, forever": "connection to 10.0.0.7 refused (https://lake/t?sv=1&sig=***",
    "what nobody foresaw": "RuntimeError",
}


@pytest.mark.parametrize("case", CASES)
async def test_failures_of_executors(desk: Desk, case: str) -> None:
    error, status, code, attempts = CASES[case]
    failing = Failing(error)
    async with running_service(
        desk, failing, retry=RETRY_AT_ONCE, worker={"poll_interval": 1, "concurrency": 4}
    ) as service:
        # A retry that is due at once is taken at once, not after the poll interval.
        answer = await service.post(SYNCHRONOUS, body())
        task_id = answer.json()["delegation_task_id"]
        shown = (await service.get(f"/{task_id}")).text
    assert (await desk.queue.get(task_id)).result_extended == DETAILS.get(case)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert failing.attempts == list(range(1, attempts + 1))
    for private in ("hunter2", "10.0.0.7", "c2lnbmVk", "RuntimeError"):
        assert private not in answer.text + shown


async def test_a_failure_in_words_that_no_database_takes_is_recorded(desk: Desk) -> None:
    """The worker would wait for the database forever, and each that takes the task over, too."""
    odd = TaskFailed("no file 'a\0\ud800b'", error_code="INVALID_PAYLOAD", detail="\0")
    task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(Failing(odd)):
        ended = await desk.ended(task.id)
    assert (ended.result_summary, ended.result_extended) == ("no file 'a\ufffd\ufffdb'", "\ufffd")


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return document


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


PARAMETERS = "operation_parameters"
WRONG = {
    "no operation": without(body(), "common_payload", "operation_type"),
    "no realm": without(body(), "common_payload", "realm_identifier"),
    "no parameters": without(body(), PARAMETERS),
    "no table": without(body(), PARAMETERS, "table_identity"),
    "no table name": without(body(), PARAMETERS, "table_identity", "table_name"),
    "no entity": without(body(), PARAMETERS, "table_identity", "table_entity_id"),
    "metadata without a location": body(metadata={"table-uuid": "u", "format-version": 2}),
    "a config that is no map of text": body(config={"s3.access-key-id": 7}),
    "an operation that nobody runs": body(operation="TABLE_MELTING"),
    "a priority out of bounds": body(priority=10),
    "a time that is none": body() | {"common_payload": {"request_timestamp_utc": "soon"}},
    "a correlation id that no database takes": body(correlation_id="a\0b"),
    "a name that no database takes": body("T\0"),
    "what is nested too deeply": body(further=nested(500)),
    "no object": ["TABLE_PURGE"],
}


@pytest.mark.parametrize("case", WRONG)
async def test_malformed_payloads_are_a_400(desk: Desk, case: str) -> None:
    async with running_service(desk, Failing(VENDING), with_worker=False) as service:
        for path in (SYNCHRONOUS, ""):
            answer = await service.post(path, WRONG[case])
            assert (answer.status_code, answer.json().keys()) == (400, {"error_code", "message"})
        assert (await service.get("")).json() == {"tasks": []}


async def test_who_may_hand_over_what(desk: Desk) -> None:
    executor: TaskExecutor = Failing(VENDING)
    async with running_service(desk, executor, with_worker=False) as service:
        assert (await service.post(SYNCHRONOUS, body(realm="elsewhere"))).status_code == 403
        reused = await service.post("", body("T1", correlation_id="one"))
        assert reused.status_code == 202
        other = await service.post(SYNCHRONOUS, body("T2", correlation_id="one"))
        assert (other.status_code, other.json()["error_code"]) == (409, "CORRELATION_ID_REUSED")
        task = f"/{reused.json()['delegation_task_id']}"
        await service.log_in("other", FOREIGN_SECRET)
        for path, answer in (
            ("get", await service.get(task)),
            ("cancel", await service.post(f"{task}/cancel")),
            ("history", await service.get(f"{task}/history")),
        ):
            assert answer.status_code == 404, path
        del service.http.headers["Authorization"]
        nobody = await service.post(SYNCHRONOUS, body())
        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")
