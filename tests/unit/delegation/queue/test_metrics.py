import pytest
from support.tasks.scripted_store import ScriptedStore

from sluicegate.delegation.queue.metrics import QueueGauges
from sluicegate.telemetry import metrics


@pytest.fixture
def gauges(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], float]:
    """The values that reach telemetry, by gauge and operation."""
    values: dict[tuple[str, str], float] = {}

    def gauge(name: str, value: float, *, operation: str) -> None:
        values[name, operation] = value

    monkeypatch.setattr(metrics, "gauge", gauge)
    return values


async def test_due_tasks_are_counted_and_the_age_is_in_seconds(
    gauges: dict[tuple[str, str], float],
) -> None:
    store = ScriptedStore([[{"operation": "TABLE_PURGE", "count": 3, "age": 4_500}]])
    await QueueGauges(store.as_store, ["TABLE_PURGE", "COMPACTION"]).measure()
    assert gauges == {
        ("sluicegate.tasks.waiting", "TABLE_PURGE"): 3,
        ("sluicegate.tasks.oldest", "TABLE_PURGE"): 4.5,
        ("sluicegate.tasks.waiting", "COMPACTION"): 0,
        ("sluicegate.tasks.oldest", "COMPACTION"): 0,
    }


@pytest.mark.usefixtures("gauges")
async def test_only_due_tasks_of_the_operations_are_measured() -> None:
    store = ScriptedStore()
    await QueueGauges(store.as_store, ["COMPACTION"]).measure()
    [query] = store.executed
    assert "tasks.due_at <= CAST(" in query.text
    assert "GROUP BY tasks.operation" in query.text
    assert ["COMPACTION"] in query.parameters.values()
