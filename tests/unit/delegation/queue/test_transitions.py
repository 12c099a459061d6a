import pytest
from support.tasks.records import task_record
from support.tasks.scripted_store import ScriptedStore, row_of

from sluicegate.database.statements.clock import NOW
from sluicegate.delegation.queue import transitions
from sluicegate.delegation.queue.records import Status

BOTH = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
RUNNING = task_record(status="RUNNING", version=3, sealed=b"secrets")


@pytest.mark.parametrize("after", ["SUBMITTED", "RUNNING"])
async def test_a_transition_that_is_not_allowed_writes_nothing(after: Status) -> None:
    store = ScriptedStore()
    with pytest.raises(Exception, match=f"RUNNING to {after}") as refused:
        await transitions.move(store.as_connection, RUNNING, after, NOW)
    assert getattr(refused.value, "status", None) == 409
    assert store.executed == []


@BOTH
async def test_a_task_that_changed_since_it_was_read_is_a_conflict(dialect: str) -> None:
    store = ScriptedStore(dialect_name=dialect)
    with pytest.raises(Exception, match="changed") as refused:
        await transitions.move(store.as_connection, RUNNING, "SUCCESS", NOW)
    assert getattr(refused.value, "status", None) == 409
    [only] = store.executed
    assert (only.parameters["this_id"], only.parameters["this_version"]) == ("t1", 3)


async def test_the_changed_task_is_returned_and_its_version_counts_up() -> None:
    moved = task_record(status="SUCCESS", version=4)
    store = ScriptedStore([[row_of(moved)]])
    assert await transitions.move(store.as_connection, RUNNING, "SUCCESS", NOW) == moved
    assert store.executed[0].parameters["given_version"] == 4


@BOTH
async def test_each_transition_adds_a_version_to_the_history(dialect: str) -> None:
    moved = task_record(status="SUCCESS", version=4, result_summary="done")
    store = ScriptedStore([[row_of(moved)]], dialect_name=dialect)
    await transitions.move(store.as_connection, RUNNING, "SUCCESS", NOW)
    [*_, last] = store.executed
    assert "INSERT INTO task_versions" in last.text
    assert len(store.executed) == (1 if dialect == "postgresql" else 2)
    if dialect == "sqlite":
        kept = {name: last.parameters[name] for name in ("task_id", "version", "result_summary")}
        assert kept == {"task_id": "t1", "version": 4, "result_summary": "done"}


@pytest.mark.parametrize("final", ["SUCCESS", "FAILURE"])
async def test_a_final_state_deletes_the_secrets_and_plans_the_callback(final: Status) -> None:
    store = ScriptedStore([[row_of(task_record(status=final, version=4))]])
    await transitions.move(store.as_connection, RUNNING, final, NOW)
    given = store.executed[0].parameters
    assert [given[f"given_{name}"] for name in ("sealed", "subject", "due_at")] == [None] * 3
    assert "callback_due_at=(CAST(" in store.executed[0].text


async def test_a_state_that_is_not_final_keeps_the_secrets() -> None:
    store = ScriptedStore([[row_of(task_record(status="RETRY_SCHEDULED", version=4))]])
    await transitions.move(store.as_connection, RUNNING, "RETRY_SCHEDULED", NOW)
    assert "given_sealed" not in store.executed[0].parameters
    assert "given_callback_due_at" not in store.executed[0].parameters
