"""SQL statements of leases and transitions. Built once, because building costs more than executing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Insert,
    Select,
    Update,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.sql.selectable import TypedReturnsRows

from sluicegate.database.task_tables import task_versions, tasks
from sluicegate.delegation.queue.records import LEASED, UNFINISHED, TaskVersion

Now = ColumnElement[int]
"""The clock that decides about leases and retries: the database's (`store.clock.NOW`)."""

VERSION = tuple(each.name for each in fields(TaskVersion))


def _one_of(name: str, statuses: Collection[str]) -> ColumnElement[bool]:
    """Compare with literals, in the order of the partial index, so that databases can use it."""
    literal: BindParameter[str] = bindparam(
        name, sorted(statuses), expanding=True, literal_execute=True
    )
    return tasks.c.status.in_(literal)


_UNFINISHED = _one_of("unfinished", UNFINISHED)
_OF_REALM = tasks.c.realm == bindparam("realm")
_WITHOUT_SCHEDULES = or_(
    tasks.c.schedule.is_(None),
    tasks.c.schedule.not_in(bindparam("without_schedules", expanding=True)),
)


@dataclass(frozen=True, slots=True)
class After:
    """A time by the database's clock: this many milliseconds after the statement."""

    milliseconds: int = 0


def _running(now: Now) -> tuple[ColumnElement[bool], ...]:
    return (tasks.c.due_at > now, _one_of("leased", LEASED))


def _due(now: Now) -> tuple[ColumnElement[bool], ...]:
    """Select new tasks, scheduled retries and lost ones: `due_at` covers all three."""
    operations: BindParameter[Any] = bindparam("operations", expanding=True)
    may_start = or_(tasks.c.start_by.is_(None), tasks.c.start_by > now)
    return (tasks.c.due_at <= now, tasks.c.operation.in_(operations), may_start)


@cache
def running_of_realm(now: Now) -> Select[Any]:
    """Count running tasks of `realm`."""
    return select(func.count()).select_from(tasks).where(*_running(now), _OF_REALM)


@cache
def running_of(now: Now, column: str) -> Select[Any]:
    """Count running tasks whose column `operation` or `schedule` is `name`."""
    named = tasks.c[column] == bindparam("name")
    return select(func.count()).select_from(tasks).where(*_running(now), named)


@cache
def running_by_realm(now: Now) -> Select[Any]:
    """Return realms with running tasks, and their numbers."""
    return select(tasks.c.realm, func.count()).where(*_running(now)).group_by(tasks.c.realm)


@cache
def waiting_realms(now: Now) -> Select[Any]:
    """Return realms with due tasks of `operations`, ordered by their most urgent task.

    One index lookup per realm, because a lookup per task would take too long.
    """
    realms = (
        select(func.min(tasks.c.realm).label("realm")).where(_UNFINISHED).cte("realms", recursive=True)
    )
    following = select(func.min(tasks.c.realm)).where(_UNFINISHED, tasks.c.realm > realms.c.realm)
    realms = realms.union_all(
        select(following.correlate(realms).scalar_subquery()).where(realms.c.realm.is_not(None))
    )
    first = (
        select(tasks.c.id)
        .where(*_due(now), _UNFINISHED, tasks.c.realm == realms.c.realm)
        .order_by(tasks.c.priority, tasks.c.due_at)
        .limit(1)
        .correlate(realms)
        .scalar_subquery()
    )
    urgent = select(first.label("id")).select_from(realms).subquery("urgent")
    return (
        select(tasks.c.realm)
        .join(urgent, urgent.c.id == tasks.c.id)
        .order_by(tasks.c.priority, tasks.c.due_at)
    )


@cache
def candidate(
    now: Now, dialect: str, *, of_realm: bool, without_schedules: bool = False
) -> Select[Any]:
    """Return the most urgent due task of `operations` that no other worker is leasing."""
    query = (
        select(tasks)
        .where(*_due(now), *((_OF_REALM, _UNFINISHED) if of_realm else ()))
        .where(*((_WITHOUT_SCHEDULES,) if without_schedules else ()))
        .order_by(tasks.c.priority, tasks.c.due_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    return _with_its_realm(query) if dialect == "postgresql" else query


def _with_its_realm(query: Select[Any]) -> Select[Any]:
    """Lock the candidate's realm; otherwise, two workers could count before either has leased."""
    picked = query.subquery("picked")
    lock = func.pg_advisory_xact_lock(func.hashtextextended(picked.c.realm, 0))
    return select(picked, lock.label("realm_lock"))


def creation(values: Mapping[str, Any], now: Now, dialect: str) -> TypedReturnsRows[Any]:
    """Store a task and its first version. Its parameters are `given`."""
    return _creation(tuple(values), _timed(values), now, dialect)


def change(values: Mapping[str, Any], now: Now, dialect: str) -> TypedReturnsRows[Any]:
    """Change the task `this_id` if it is at `this_version`, and add its new version."""
    return _change(tuple(values), _timed(values), now, dialect)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of columns as parameters. The columns' own names are reserved."""
    return {
        f"given_{name}": value.milliseconds if isinstance(value, After) else value
        for name, value in values.items()
    }


@cache
def _creation(
    columns: tuple[str, ...], timed: frozenset[str], now: Now, dialect: str
) -> TypedReturnsRows[Any]:
    return _recorded(insert(tasks).values(_parameters(columns, timed, now)), dialect)


@cache
def _change(
    columns: tuple[str, ...], timed: frozenset[str], now: Now, dialect: str
) -> TypedReturnsRows[Any]:
    same = update(tasks).where(
        tasks.c.id == bindparam("this_id"), tasks.c.version == bindparam("this_version")
    )
    return _recorded(same.values(_parameters(columns, timed, now)), dialect)


def _timed(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in values.items() if isinstance(value, After))


def _parameters(
    columns: tuple[str, ...], timed: frozenset[str], now: Now
) -> dict[str, ColumnElement[Any]]:
    parameters = {name: bindparam(f"given_{name}", type_=tasks.c[name].type) for name in columns}
    return {name: now + each if name in timed else each for name, each in parameters.items()}


def _recorded(changing: Insert | Update, dialect: str) -> TypedReturnsRows[Any]:
    """Return the changed task. On PostgreSQL, the statement also adds its version."""
    if dialect != "postgresql":
        return changing.returning(tasks)
    # One statement, so that others wait as briefly as possible for a lease that is being taken.
    changed = changing.returning(tasks).cte("changed")
    version = select(changed.c.id, *(changed.c[name] for name in VERSION))
    added = insert(task_versions).from_select(["task_id", *VERSION], version).cte("added")
    return select(changed).add_cte(added)
