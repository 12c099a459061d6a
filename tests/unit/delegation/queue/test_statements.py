from typing import Any

import pytest
from support.tasks.scripted_store import DIALECTS

from sluicegate.database.statements.clock import NOW
from sluicegate.delegation.queue.statements import (
    After,
    candidate,
    change,
    creation,
    given,
    running_by_realm,
    running_of_realm,
    waiting_realms,
)

NOWS = {"postgresql": "statement_timestamp()", "sqlite": "julianday('now')"}
BOTH = pytest.mark.parametrize("dialect", DIALECTS)
CHANGES = {"id": "t1", "status": "RUNNING", "due_at": After(5_000)}


def sql(statement: Any, dialect: str) -> str:
    """The text of a statement, on one line."""
    return " ".join(str(statement.compile(dialect=DIALECTS[dialect])).split())


@BOTH
@pytest.mark.parametrize("of_realm", [True, False])
def test_the_candidate_is_the_most_urgent_due_task(dialect: str, of_realm: bool) -> None:
    text = sql(candidate(NOW, dialect, of_realm=of_realm), dialect)
    assert "ORDER BY tasks.priority, tasks.due_at LIMIT" in text
    assert f"tasks.due_at <= CAST({'extract' if dialect == 'postgresql' else 'round'}" in text
    assert NOWS[dialect] in text
    assert ("tasks.realm = " in text) is of_realm


@BOTH
def test_only_postgresql_locks_the_candidate_and_its_realm(dialect: str) -> None:
    text = sql(candidate(NOW, dialect, of_realm=False), dialect)
    locks = dialect == "postgresql"
    assert ("FOR UPDATE SKIP LOCKED" in text) is locks
    assert ("pg_advisory_xact_lock(hashtextextended(picked.realm" in text) is locks


@BOTH
def test_running_tasks_are_leased_and_not_lost(dialect: str) -> None:
    for statement in (running_of_realm(NOW), running_by_realm(NOW)):
        text = sql(statement, dialect)
        assert "tasks.due_at > CAST(" in text
        assert "tasks.status IN (__[POSTCOMPILE_leased])" in text


@BOTH
def test_states_are_literals_so_that_the_partial_index_is_used(dialect: str) -> None:
    compiled = (
        waiting_realms(NOW)
        .params(operations=["TABLE_PURGE"])
        .compile(dialect=DIALECTS[dialect], compile_kwargs={"render_postcompile": True})
    )
    states = "('ACQUIRING_RESOURCES', 'RETRY_SCHEDULED', 'RUNNING', 'SUBMITTED')"
    assert f"tasks.status IN {states}" in str(compiled)


@BOTH
def test_waiting_realms_are_found_by_one_lookup_each(dialect: str) -> None:
    text = sql(waiting_realms(NOW), dialect)
    assert text.startswith("WITH RECURSIVE realms(realm) AS")
    assert "min(tasks.realm)" in text
    assert "tasks.realm > realms.realm" in text


def test_a_change_on_postgresql_adds_the_version_in_one_statement() -> None:
    text = sql(change(CHANGES, NOW, "postgresql"), "postgresql")
    assert "UPDATE tasks SET" in text
    assert "INSERT INTO task_versions (task_id, version, status," in text


def test_a_change_on_sqlite_only_returns_the_task() -> None:
    text = sql(change(CHANGES, NOW, "sqlite"), "sqlite")
    assert text.startswith("UPDATE tasks SET")
    assert "RETURNING id" in text
    assert "task_versions" not in text


@BOTH
@pytest.mark.parametrize("make", [creation, change])
def test_only_relative_times_are_added_to_the_databases_clock(dialect: str, make: Any) -> None:
    relative = sql(make(CHANGES, NOW, dialect), dialect)
    absolute = sql(make(CHANGES | {"due_at": 5_000}, NOW, dialect), dialect)
    assert relative.count(NOWS[dialect]) == 1
    assert NOWS[dialect] not in absolute


@BOTH
def test_a_change_names_the_version_that_it_is_based_on(dialect: str) -> None:
    compiled = change(CHANGES, NOW, dialect).compile(dialect=DIALECTS[dialect])
    assert set(compiled.params) == {"this_id", "this_version", *given(CHANGES)}
    assert "tasks.version = " in str(compiled)


def test_statements_are_built_once_for_equal_columns() -> None:
    other = {"id": "t2", "status": "FAILURE", "due_at": After(9)}
    assert change(CHANGES, NOW, "sqlite") is change(other, NOW, "sqlite")
    assert change(CHANGES, NOW, "sqlite") is not change({"status": "FAILURE"}, NOW, "sqlite")


def test_values_are_parameters_in_milliseconds() -> None:
    assert given({"due_at": After(5), "realm": None}) == {"given_due_at": 5, "given_realm": None}
    assert given({"received_at": After()}) == {"given_received_at": 0}
