from support.tasks.scripted_store import ScriptedStore

from sluicegate.delegation.queue.retention import Retention


async def test_old_tasks_are_deleted_in_several_transactions_until_none_are_left() -> None:
    store = ScriptedStore([[{"id": "t1"}, {"id": "t2"}], [], [{"id": "t3"}], [], []])
    assert await Retention(store.as_store, 60, at_once=2).prune() == 3
    deletions = [each for each in store.executed if each.text.startswith("DELETE FROM tasks")]
    assert [list(each.parameters.values()) for each in deletions] == [[["t1", "t2"]], [["t3"]]]
    assert store.commits == 3


async def test_without_old_tasks_nothing_is_deleted() -> None:
    store = ScriptedStore()
    assert await Retention(store.as_store, 60).prune() == 0
    assert [each.text.split()[0] for each in store.executed] == ["SELECT"]


async def test_only_completed_tasks_older_than_the_retention_are_selected() -> None:
    store = ScriptedStore()
    await Retention(store.as_store, 60, at_once=7).prune()
    [query] = store.executed
    assert "tasks.received_at < CAST(" in query.text
    assert "tasks.status_changed_at < CAST(" in query.text
    values = list(query.parameters.values())
    assert 60_000 in values
    assert 7 in values
    assert {"SUCCESS", "FAILURE"} in [set(each) for each in values if not isinstance(each, int)]


async def test_on_postgresql_tasks_that_others_are_deleting_are_skipped() -> None:
    store = ScriptedStore(dialect_name="postgresql")
    await Retention(store.as_store, 60).prune()
    assert store.executed[0].text.endswith("FOR UPDATE SKIP LOCKED")
