"""What leases and transitions ask of the database, built once: building cost more than asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
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
from sluicegate.delegation.states import LEASED
from sluicegate.store.tables import task_versions, tasks

VERSION = tuple(each.name for each in fields(TaskVersion))

# As literals, which show the databases that their index of leased tasks serves the query.
_LEASED: BindParameter[str] = bindparam("leased", sorted(LEASED), expanding=True, literal_execute=True)

# New tasks, scheduled retries and lost ones: `due_at` tells all three.
_CANDIDATE: Select[Any] = (
    select(tasks)
    .where(
        tasks.c.due_at <= bindparam("now"),
        tasks.c.operation.in_(bindparam("operations", expanding=True)),
        tasks.c.realm.not_in(bindparam("full", expanding=True)),
    )
    .order_by(tasks.c.priority, tasks.c.due_at)
    .limit(1)
    .with_for_update(skip_locked=True)
)

RUNNING_OF_REALM: Select[Any] = (
    select(func.count())
    .select_from(tasks)
    .where(
        tasks.c.due_at > bindparam("now"),
        tasks.c.status.in_(_LEASED),
        tasks.c.realm == bindparam("realm"),
    )
)


def candidate(dialect: str) -> Select[Any]:
    """The most urgent due task of `operations`, `now`, of no realm of `full`.

    Args:
        dialect: The database's name.
    """
    return _LOCKED_CANDIDATE if dialect == "postgresql" else _CANDIDATE


def _with_its_realm(query: Select[Any]) -> Select[Any]:
    """The candidate and a lock on its realm: else two would count before either has leased."""
    picked = query.subquery("picked")
    lock = func.pg_advisory_xact_lock(func.hashtextextended(picked.c.realm, 0))
    return select(picked, lock.label("realm_lock"))


_LOCKED_CANDIDATE = _with_its_realm(_CANDIDATE)


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
