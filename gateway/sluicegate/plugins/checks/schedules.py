"""Checks `delegation.schedules` against executors, catalogs and the grants of realms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sluicegate.config import Settings
from sluicegate.config.yaml import Location, nearest

if TYPE_CHECKING:
    from sluicegate.config.sections.schedules import ScheduleSettings
    from sluicegate.plugins.configured import ConfiguredExecutor

_WILDCARD = "*"
_PURGE = "TABLE_PURGE"


def schedule_problems(settings: Settings, executors: Sequence[ConfiguredExecutor]) -> Iterator[str]:
    """Return a line `file:line:column: message` for each problem."""
    by_operation = {each: executor for executor in executors for each in executor.type.operations}
    for name, schedule in settings.delegation.schedules.items():
        place: Location = ("delegation", "schedules", name)
        found = [
            *_of_executor(schedule, by_operation),
            *_of_tables(settings, schedule),
            *_of_realm(settings, schedule),
            *_of_chain(settings.delegation.schedules, name),
        ]
        for key, message in found:
            yield settings.problem((*place, *key), message)


def _of_executor(
    schedule: ScheduleSettings, by_operation: dict[str, ConfiguredExecutor]
) -> Iterator[tuple[Location, str]]:
    operation, catalog = schedule.operation, schedule.catalog
    executor = by_operation.get(operation)
    if executor is None:
        hint = nearest(operation, sorted(by_operation))
        yield ("operation",), f"no executor runs the operation '{operation}'{hint}"
    elif executor.type.catalogs is not None:
        known = sorted(executor.type.catalogs(executor.config))
        if catalog not in known:
            hint = nearest(catalog, known)
            yield ("catalog",), f"the executor of {operation} has no catalog '{catalog}'{hint}"


def _of_tables(settings: Settings, schedule: ScheduleSettings) -> Iterator[tuple[Location, str]]:
    lists = schedule.after is None and any(_WILDCARD in each for each in schedule.tables)
    if lists and schedule.listed_in not in settings.catalogs:
        key = "catalog" if schedule.listing_catalog is None else "listing_catalog"
        hint = nearest(schedule.listed_in, sorted(settings.catalogs))
        yield (
            (key,),
            f"patterns need a catalog that lists tables, but catalogs has no entry "
            f"'{schedule.listed_in}': add it, or name another entry in listing_catalog{hint}",
        )
    if schedule.operation == _PURGE:
        for number, pattern in enumerate(schedule.tables):
            if _WILDCARD in pattern.rpartition(".")[0]:
                yield (
                    ("tables", number),
                    f"{_PURGE} deletes tables, so a schedule must name their namespace without '*'",
                )


def _of_chain(schedules: Mapping[str, ScheduleSettings], name: str) -> Iterator[tuple[Location, str]]:
    schedule, before = schedules[name], schedules[name].after
    if before is None:
        return
    if before not in schedules:
        hint = nearest(before, sorted(schedules))
        yield ("after",), f"there is no schedule '{before}'{hint}"
        return
    if schedules[before].catalog != schedule.catalog:
        yield ("catalog",), f"the schedule '{before}' has tables of another catalog"
    seen: set[str] = set()
    following: str | None = before
    while following is not None and following in schedules and following not in seen:
        seen.add(following)
        following = schedules[following].after if following != name else None
    if name in seen:
        yield ("after",), f"the schedule '{name}' would have to wait for itself"


def _of_realm(settings: Settings, schedule: ScheduleSettings) -> Iterator[tuple[Location, str]]:
    delegation = settings.delegation
    realm = delegation.realm if schedule.realm is None else schedule.realm
    known = delegation.realms
    # Without grants, the only realm may do everything.
    if not known and (realm == delegation.realm or realm in delegation.client_realms):
        return
    key: Location = () if schedule.realm is None else ("realm",)
    if realm not in known:
        hint = nearest(realm, sorted(known or {delegation.realm}))
        yield key, f"the realm '{realm}' has no grants in delegation.realms{hint}"
        return
    for what, value, granted in (
        ("operation", schedule.operation, known[realm].operations),
        ("catalog", schedule.catalog, known[realm].catalogs),
    ):
        if value not in granted:
            yield (
                (what,),
                f"realm '{realm}' is not granted the {what} '{value}': add it to "
                f"delegation.realms.{realm}.{what}s",
            )
