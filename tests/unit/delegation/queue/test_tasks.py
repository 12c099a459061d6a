from typing import Any

import orjson
import pytest
from sqlalchemy.exc import IntegrityError
from support.tasks.records import PAYLOAD, task_record
from support.tasks.scripted_store import ScriptedStore, row_of

from sluicegate.api.errors import NotFound
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.tasks import TaskConflict, TaskFilter, TaskQueue
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.signing.keyring import KeyRing

CIPHER = PayloadCipher(KeyRing((b"a key",)))


def queue(store: ScriptedStore) -> TaskQueue:
    return TaskQueue(store.as_store, CIPHER)


def stored(**changes: Any) -> list[Any]:
    return [row_of(task_record(**changes))]


def payload(correlation_id: str | None = None, **parameters: Any) -> TaskPayload:
    common = {"operation_type": "TABLE_PURGE", "realm_identifier": "default", "priority": 2}
    if correlation_id is not None:
        common["polaris_correlation_id"] = correlation_id
    body = {
        "common_payload": common,
        "operation_parameters": PAYLOAD["operation_parameters"] | parameters,
    }
    return TaskPayload.parse(orjson.dumps(body))


def collision() -> IntegrityError:
    return IntegrityError("INSERT", {}, Exception("unique"))


async def test_a_new_task_is_due_at_once_and_names_its_client() -> None:
    store = ScriptedStore([[], stored()])
    assert (await queue(store).submit(payload(), "polaris")).id == "t1"
    given = store.executed[1].parameters
    kept = {name: given[f"given_{name}"] for name in ("status", "submitted_by", "priority", "due_at")}
    assert kept == {"status": "SUBMITTED", "submitted_by": "polaris", "priority": 2, "due_at": 0}


async def test_credentials_are_only_stored_encrypted() -> None:
    store = ScriptedStore([[], stored()])
    await queue(store).submit(payload(config={"token": "hunter2"}), "polaris")
    given = store.executed[1].parameters
    assert "hunter2" not in repr(given)
    assert CIPHER.decrypt(given["given_sealed"])["config"] == {"token": "hunter2"}


async def test_a_payload_without_credentials_has_no_encrypted_part() -> None:
    store = ScriptedStore([[], stored()])
    await queue(store).submit(payload(), "polaris")
    assert store.executed[1].parameters["given_sealed"] is None


async def test_a_repeated_request_returns_its_task_and_renews_the_credentials() -> None:
    repeated = payload("c1", config={"token": "newer"})
    store = ScriptedStore([stored(digest=repeated.digest, sealed=b"older")])
    assert (await queue(store).submit(repeated, "polaris")).id == "t1"
    [_, renewal] = store.executed
    assert renewal.text.startswith("UPDATE tasks SET sealed=")
    assert CIPHER.decrypt(renewal.parameters["sealed"])["config"] == {"token": "newer"}


async def test_credentials_of_a_completed_task_are_not_renewed() -> None:
    repeated = payload("c1", config={"token": "newer"})
    store = ScriptedStore([stored(digest=repeated.digest, status="SUCCESS")])
    assert (await queue(store).submit(repeated, "polaris")).ended
    assert len(store.executed) == 1


@pytest.mark.parametrize(
    ("correlation_id", "code"), [("c1", "CORRELATION_ID_REUSED"), (None, "TABLE_BUSY")]
)
async def test_a_different_request_conflicts(correlation_id: str | None, code: str) -> None:
    store = ScriptedStore([stored(digest=b"of another request")])
    with pytest.raises(TaskConflict) as conflict:
        await queue(store).submit(payload(correlation_id), "polaris")
    assert (conflict.value.code, conflict.value.task_id) == (code, "t1")


async def test_of_two_equal_requests_at_once_both_get_the_same_task() -> None:
    request = payload()
    store = ScriptedStore([[], collision(), stored(digest=request.digest)])
    assert (await queue(store).submit(request, "polaris")).id == "t1"


async def test_a_collision_with_a_task_that_just_ended_can_be_tried_again() -> None:
    with pytest.raises(TaskConflict) as conflict:
        await queue(ScriptedStore([[], collision(), []])).submit(payload(), "polaris")
    assert conflict.value.code == "CONFLICT"


@pytest.mark.parametrize("task_id", ["nowhere", "null\0character"])
async def test_an_unknown_task_is_not_found(task_id: str) -> None:
    with pytest.raises(NotFound):
        await queue(ScriptedStore()).get(task_id)


async def test_a_null_character_never_reaches_the_database() -> None:
    store = ScriptedStore()
    with pytest.raises(NotFound):
        await queue(store).get("t\0")
    assert store.executed == []


async def test_a_listing_has_the_conditions_of_its_filter() -> None:
    store = ScriptedStore([stored()])
    wanted = TaskFilter(realms=["default"], status="RUNNING", limit=7)
    assert [each.id for each in await queue(store).find(wanted)] == ["t1"]
    [query] = store.executed
    assert "tasks.status = ?" in query.text
    assert "tasks.operation = ?" not in query.text
    assert "NULL AS sealed" in query.text
    assert "ORDER BY tasks.received_at DESC, tasks.id DESC" in query.text


async def test_a_page_does_not_start_after_a_task_of_another_realm() -> None:
    store = ScriptedStore([stored(realm="secret")])
    with pytest.raises(NotFound, match="no task 't1'"):
        await queue(store).find(TaskFilter(realms=["default"], after="t1"))
    assert len(store.executed) == 1


async def test_a_waiting_task_is_canceled_at_once() -> None:
    store = ScriptedStore([stored(), stored(status="FAILURE", version=2)])
    assert (await queue(store).cancel("t1")).status == "FAILURE"
    assert store.executed[1].parameters["given_error_code"] == "TASK_CANCELLED"


async def test_a_running_task_is_only_requested_to_stop() -> None:
    store = ScriptedStore(
        [stored(status="RUNNING"), stored(status="RUNNING", cancel_requested_at=2_000)]
    )
    assert (await queue(store).cancel("t1")).cancel_requested_at == 2_000
    assert "cancel_requested_at=coalesce(tasks.cancel_requested_at," in store.executed[1].text


async def test_a_completed_task_cannot_be_canceled() -> None:
    with pytest.raises(TaskConflict) as conflict:
        await queue(ScriptedStore([stored(status="SUCCESS")])).cancel("t1")
    assert (conflict.value.code, conflict.value.task_id) == ("TASK_ENDED", "t1")


async def test_a_failed_task_is_retried_from_its_first_attempt() -> None:
    failed = stored(status="FAILURE", version=6, attempt_count=5, stages=("listed",))
    store = ScriptedStore([failed, stored(version=7)])
    assert (await queue(store).retry("t1")).status == "SUBMITTED"
    given = store.executed[1].parameters
    assert (given["given_attempt_count"], given["given_error_code"]) == (0, None)
    assert "given_stages" not in given


async def test_a_task_that_has_not_failed_cannot_be_retried() -> None:
    with pytest.raises(TaskConflict) as conflict:
        await queue(ScriptedStore([stored(status="RUNNING")])).retry("t1")
    assert conflict.value.code == "TASK_NOT_FAILED"


async def test_a_retry_conflicts_with_an_unfinished_task_of_the_table() -> None:
    other = stored(id="t2", status="RUNNING")
    store = ScriptedStore([stored(status="FAILURE"), collision(), other])
    with pytest.raises(TaskConflict, match="t2") as conflict:
        await queue(store).retry("t1")
    assert (conflict.value.code, conflict.value.task_id) == ("TABLE_BUSY", "t2")
