"""What leases and transitions ask of the database, built once: building cost more than asking."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
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

VERSION = tuple(each.name for each in fields(TaskVersion))


def _one_of(name: str, statuses: Collection[str]) -> ColumnElement[bool]:
    """As literals, in the order of the index of such tasks, that the databases see that it serves."""
    literal: BindParameter[str] = bindparam(
        name, sorted(statuses), expanding=True, literal_execute=True
    )
    return tasks.c.status.in_(literal)


_RUNNING = (tasks.c.due_at > bindparam("now"), _one_of("leased", LEASED))
_UNFINISHED = _one_of("unfinished", UNFINISHED)

# New tasks, scheduled retries and lost ones: `due_at` tells all three.
_DUE = (
    tasks.c.due_at <= bindparam("now"),
    tasks.c.operation.in_(bindparam("operations", expanding=True)),
)
_OF_REALM = tasks.c.realm == bindparam("realm")

RUNNING_OF_REALM: Select[Any] = select(func.count()).select_from(tasks).where(*_RUNNING, _OF_REALM)
"""How many tasks of `realm` run `now`."""

RUNNING_BY_REALM: Select[Any] = (
    select(tasks.c.realm, func.count()).where(*_RUNNING).group_by(tasks.c.realm)
)
"""Realms with tasks that run `now`, and how many."""


def _waiting_realms() -> Select[Any]:
    """One look at an index for each realm, where a look at each task would take long."""
    realms = (
        select(func.min(tasks.c.realm).label("realm")).where(_UNFINISHED).cte("realms", recursive=True)
    )
    following = select(func.min(tasks.c.realm)).where(_UNFINISHED, tasks.c.realm > realms.c.realm)
    realms = realms.union_all(
        select(following.correlate(realms).scalar_subquery()).where(realms.c.realm.is_not(None))
    )
    first = (
        select(tasks.c.id)
        .where(*_DUE, _UNFINISHED, tasks.c.realm == realms.c.realm)
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


WAITING_REALMS = _waiting_realms()
"""Realms with tasks of `operations` that are due `now`, that of the most urgent one first."""


@cache
def candidate(dialect: str, *, of_realm: bool) -> Select[Any]:
    """The most urgent task of `operations` that is due `now`, which nobody else is leasing.

    Args:
        dialect: The database's name.
        of_realm: Only of `realm`.
    """
    query = (
        select(tasks)
        .where(*_DUE, *((_OF_REALM, _UNFINISHED) if of_realm else ()))
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


@cache
def creation(columns: tuple[str, ...], dialect: str) -> TypedReturnsRows[Any]:
    """Stores a task and its first version; its parameters are `given`.

    Args:
        columns: Those that are given.
        dialect: The database's name.
    """
    return _recorded(insert(tasks).values(_parameters(columns)), dialect)


@cache
def change(columns: tuple[str, ...], dialect: str) -> TypedReturnsRows[Any]:
    """Changes the task `this_id` if it is at `this_version`, and adds the version that it has then."""
    same = update(tasks).where(
        tasks.c.id == bindparam("this_id"), tasks.c.version == bindparam("this_version")
    )
    return _recorded(same.values(_parameters(columns)), dialect)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of columns as parameters; the columns' own names are not free for them."""
    return {f"given_{name}": value for name, value in values.items()}


def _parameters(columns: tuple[str, ...]) -> dict[str, BindParameter[Any]]:
    return {name: bindparam(f"given_{name}", type_=tasks.c[name].type) for name in columns}


def _recorded(changing: Insert | Update, dialect: str) -> TypedReturnsRows[Any]:
    """The task as it is then. Only on PostgreSQL its version is added as well."""
    if dialect != "postgresql":
        return changing.returning(tasks)
    # One statement: others wait for a lease that is being taken no longer than they must.
    changed = changing.returning(tasks).cte("changed")
    version = select(changed.c.id, *(changed.c[name] for name in VERSION))
    added = insert(task_versions).from_select(["task_id", *VERSION], version).cte("added")
    return select(changed).add_cte(added)
