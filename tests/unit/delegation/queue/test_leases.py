from typing import Any

import pytest
from support.tasks.records import task_record
from support.tasks.scripted_store import ScriptedStore, row_of

from sluicegate.api.delegation.tasks import TaskProgress, TaskResult
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.failures import AttemptFailure
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.retry_policy import RetryPolicies

SETTINGS = DelegationSettings.model_validate({"lease": {"ttl": 100}, "realm_limits": {"small": 1}})
PURGE = ["TABLE_PURGE"]
RUNNING = task_record(status="RUNNING", version=3, leased_by="w1", attempt_count=1)
TRANSIENT = AttemptFailure("STORAGE_FAILED", "slow down", True, "503")


def leases(store: ScriptedStore) -> Leases:
    policies = RetryPolicies(SETTINGS, lambda: 0.0)
    return Leases(store.as_store, SETTINGS, policies=policies)


def stored(**changes: Any) -> list[Any]:
    return [row_of(task_record(**changes))]


def counted(number: int) -> list[Any]:
    return [{"count": number}]


def written(store: ScriptedStore) -> dict[str, Any]:
    """The values of the first change, by column."""
    change = next(each for each in store.executed if each.text.startswith("UPDATE tasks"))
    given = change.parameters.items()
    return {name.removeprefix("given_"): value for name, value in given if name.startswith("given_")}


async def test_without_due_tasks_nothing_is_leased() -> None:
    assert await leases(ScriptedStore()).acquire("w1", PURGE) is None


async def test_a_due_task_is_leased_and_its_attempt_is_counted() -> None:
    leased = stored(status="ACQUIRING_RESOURCES", version=2, attempt_count=1)
    store = ScriptedStore([stored(), counted(0), leased])
    found = await leases(store).acquire("w1", PURGE)
    assert isinstance(found, TaskRecord)
    assert found.status == "ACQUIRING_RESOURCES"
    values = written(store)
    assert (values["leased_by"], values["attempt_count"], values["due_at"]) == ("w1", 1, 100_000)


async def test_a_realm_at_its_limit_leases_nothing_and_others_are_tried() -> None:
    other = stored(id="t2", realm="other")
    leased = stored(id="t2", realm="other", status="ACQUIRING_RESOURCES", version=2)
    realms = [{"realm": "small"}, {"realm": "other"}]
    running = [{"realm": "small", "count": 1}]
    store = ScriptedStore(
        [stored(realm="small"), counted(1), running, realms, other, counted(0), leased]
    )
    found = await leases(store).acquire("w1", PURGE)
    assert isinstance(found, TaskRecord)
    assert found.id == "t2"
    assert store.executed[4].parameters["realm"] == "other"


async def test_a_lost_task_without_attempts_left_fails_instead_of_being_leased() -> None:
    lost = stored(status="RUNNING", attempt_count=5, leased_by="gone")
    store = ScriptedStore([lost, stored(status="FAILURE", version=2), []])
    assert await leases(store).acquire("w1", PURGE) is None
    values = written(store)
    assert (values["status"], values["error_code"]) == ("FAILURE", "WORKER_LOST")


async def test_a_canceled_task_ends_instead_of_being_leased() -> None:
    canceled = stored(status="RUNNING", attempt_count=1, cancel_requested_at=2_000)
    store = ScriptedStore([canceled, stored(status="FAILURE", version=2), []])
    assert await leases(store).acquire("w1", PURGE) is None
    values = written(store)
    assert (values["status"], values["error_code"]) == ("FAILURE", "TASK_CANCELLED")


@pytest.mark.parametrize(
    ("attempts", "retryable", "status", "delay"),
    [
        (1, True, "RETRY_SCHEDULED", 30_000),
        (4, True, "RETRY_SCHEDULED", 240_000),
        (5, True, "FAILURE", None),
        (1, False, "FAILURE", None),
    ],
)
async def test_a_failed_attempt_is_retried_while_its_policy_allows(
    attempts: int, retryable: bool, status: str, delay: int | None
) -> None:
    task = task_record(status="RUNNING", version=3, attempt_count=attempts)
    store = ScriptedStore([stored(status=status, version=4)])
    failure = AttemptFailure("STORAGE_FAILED", "slow down", retryable, "503")
    assert (await leases(store).fail(task, failure)).status == status
    values = written(store)
    assert (values["status"], values["due_at"]) == (status, delay)
    assert [values[each] for each in ("error_code", "result_summary", "result_extended")] == [
        *("STORAGE_FAILED", "slow down", "503")
    ]


async def test_a_failed_attempt_of_a_canceled_task_ends_it() -> None:
    scheduled = stored(status="RETRY_SCHEDULED", version=4, cancel_requested_at=2_000)
    store = ScriptedStore([scheduled, [], stored(status="FAILURE", version=5)])
    assert (await leases(store).fail(RUNNING, TRANSIENT)).status == "FAILURE"
    last = [each for each in store.executed if each.text.startswith("UPDATE tasks")][-1]
    assert last.parameters["given_error_code"] == "TASK_CANCELLED"
    assert last.parameters["this_version"] == 4


async def test_a_released_task_is_due_at_once_and_its_attempt_does_not_count() -> None:
    store = ScriptedStore([stored(status="RETRY_SCHEDULED", version=4)])
    await leases(store).release(RUNNING)
    values = written(store)
    assert (values["status"], values["due_at"], values["attempt_count"]) == ("RETRY_SCHEDULED", 0, 0)


async def test_a_success_stores_the_figures_that_are_known() -> None:
    store = ScriptedStore([stored(status="SUCCESS", version=4)])
    result = TaskResult("purged", files_deleted=0, further={"snapshots": 2})
    await leases(store).succeed(RUNNING, result, TaskProgress("done", 7))
    values = written(store)
    assert values["result"] == {"files_deleted": 0, "snapshots": 2}
    assert values["progress"]["files_done"] == 7
    assert values["result_summary"] == "purged"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "lost"),
        ([{"cancel_requested_at": None}], "held"),
        ([{"cancel_requested_at": 2_000}], "cancelled"),
    ],
)
async def test_a_heartbeat_reports_whether_the_lease_is_held(rows: list[Any], expected: str) -> None:
    store = ScriptedStore([rows])
    outcome: str = await leases(store).beat(RUNNING)
    assert outcome == expected
    [update] = store.executed
    assert {"t1", 3} <= set(update.parameters.values())
    assert "progress" not in update.parameters


async def test_a_finished_stage_of_a_lost_lease_is_reported() -> None:
    assert not await leases(ScriptedStore()).finish_stage(RUNNING, ["listed"])
    kept = ScriptedStore([[{"cancel_requested_at": None}]])
    assert await leases(kept).finish_stage(RUNNING, ["listed"], TaskProgress("listing"))
    assert kept.executed[0].parameters["stages"] == ["listed"]
