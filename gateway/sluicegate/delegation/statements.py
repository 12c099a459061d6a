"""What leases and transitions ask of the database, built once: building cost more than asking."""

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
    select,
    update,
)
from sqlalchemy.sql.selectable import TypedReturnsRows

from sluicegate.delegation.records import TaskVersion
from sluicegate.delegation.states import LEASED, UNFINISHED
from sluicegate.store.tables import task_versions, tasks

Now = ColumnElement[int]
"""The clock that decides about leases and retries: the database's (`store.clock.NOW`)."""

VERSION = tuple(each.name for each in fields(TaskVersion))


def _one_of(name: str, statuses: Collection[str]) -> ColumnElement[bool]:
    """As literals, in the order of the index of such tasks, that the databases see that it serves."""
    literal: BindParameter[str] = bindparam(
        name, sorted(statuses), expanding=True, literal_execute=True
    )
    return tasks.c.status.in_(literal)


_UNFINISHED = _one_of("unfinished", UNFINISHED)
_OF_REALM = tasks.c.realm == bindparam("realm")


@dataclass(frozen=True, slots=True)
class After:
    """A time by the database's clock: so many milliseconds after the statement."""

    milliseconds: int = 0


def _running(now: Now) -> tuple[ColumnElement[bool], ...]:
    return (tasks.c.due_at > now, _one_of("leased", LEASED))


def _due(now: Now) -> tuple[ColumnElement[bool], ...]:
    """New tasks, scheduled retries and lost ones: `due_at` tells all three."""
    operations: BindParameter[Any] = bindparam("operations", expanding=True)
    return (tasks.c.due_at <= now, tasks.c.operation.in_(operations))


@cache
def running_of_realm(now: Now) -> Select[Any]:
    """How many tasks of `realm` run."""
    return select(func.count()).select_from(tasks).where(*_running(now), _OF_REALM)


@cache
def running_by_realm(now: Now) -> Select[Any]:
    """Realms with tasks that run, and how many."""
    return select(tasks.c.realm, func.count()).where(*_running(now)).group_by(tasks.c.realm)


@cache
def waiting_realms(now: Now) -> Select[Any]:
    """Realms with tasks of `operations` that are due, that of the most urgent one first.

    One look at an index for each realm, where a look at each task would take long.
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
def candidate(now: Now, dialect: str, *, of_realm: bool) -> Select[Any]:
    """The most urgent task of `operations` that is due, which nobody else is leasing.

    Args:
        now: The clock.
        dialect: The database's name.
        of_realm: Only of `realm`.
    """
    query = (
        select(tasks)
        .where(*_due(now), *((_OF_REALM, _UNFINISHED) if of_realm else ()))
        .order_by(tasks.c.priority, tasks.c.due_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    return _with_its_realm(query) if dialect == "postgresql" else query


def _with_its_realm(query: Select[Any]) -> Select[Any]:
    """The candidate and a lock on its realm: else two would count before either has leased."""
    picked = query.subquery("picked")
    lock = func.pg_advisory_xact_lock(func.hashtextextended(picked.c.realm, 0))
    return select(picked, lock.label("realm_lock"))


def creation(values: Mapping[str, Any], now: Now, dialect: str) -> TypedReturnsRows[Any]:
    """Stores a task and its first version; its parameters are `given`.

    Args:
        values: By column.
        now: What `After` is reckoned from.
        dialect: The database's name.
    """
    return _creation(tuple(values), _timed(values), now, dialect)


def change(values: Mapping[str, Any], now: Now, dialect: str) -> TypedReturnsRows[Any]:
    """Changes the task `this_id` if it is at `this_version`, and adds the version that it has then."""
    return _change(tuple(values), _timed(values), now, dialect)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of columns as parameters; the columns' own names are not free for them."""
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
    """The task as it is then. Only on PostgreSQL its version is added as well."""
    if dialect != "postgresql":
        return changing.returning(tasks)
    # One statement: others wait for a lease that is being taken no longer than they must.
    changed = changing.returning(tasks).cte("changed")
    version = select(changed.c.id, *(changed.c[name] for name in VERSION))
    added = insert(task_versions).from_select(["task_id", *VERSION], version).cte("added")
    return select(changed).add_cte(added)
