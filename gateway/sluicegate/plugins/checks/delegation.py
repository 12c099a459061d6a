"""Checks the grants in `delegation.realms` against clients, catalogs and operations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
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


_DELEGATION: Location = ("delegation",)
_EXAMPLE_LOCATION = "s3://bucket/prefix/"


def realm_problems(settings: Settings, executors: Sequence[ConfiguredExecutor]) -> Iterator[str]:
    """Return a line `file:line:column: message` for each problem."""
    delegation = settings.delegation
    catalogs = _catalogs_of(executors)
    operations = sorted({each for executor in executors for each in executor.type.operations})
    if not delegation.realms:
        if len(delegation.client_realms) > 1:
            yield settings.problem(
                _DELEGATION,
                _grants_missing(sorted(delegation.client_realms), catalogs or (), operations),
            )
        return
    for name, client in delegation.clients.items():
        for realm in sorted(delegation.realms_of(client) - delegation.realms.keys()):
            hint = nearest(realm, sorted(delegation.realms))
            message = (
                f"client '{name}' acts for realm '{realm}', which is not in delegation.realms{hint}"
            )
            yield settings.problem((*_DELEGATION, "clients", name, "realms"), message)
    for realm, section in delegation.realms.items():
        place: Location = (*_DELEGATION, "realms", realm)
        for number, operation in enumerate(section.operations):
            if operation not in operations:
                message = (
                    f"no executor runs the operation '{operation}'{nearest(operation, operations)}"
                )
                yield settings.problem((*place, "operations", number), message)
        for number, catalog in enumerate(section.catalogs):
            if catalogs is not None and catalog not in catalogs:
                message = f"no executor has a catalog '{catalog}'{nearest(catalog, sorted(catalogs))}"
                yield settings.problem((*place, "catalogs", number), message)


def _catalogs_of(executors: Sequence[ConfiguredExecutor]) -> frozenset[str] | None:
    """The catalogs of all executors; `None` if an executor does not list its catalogs."""
    found: set[str] = set()
    for each in executors:
        if each.type.catalogs is None:
            return None
        found |= set(each.type.catalogs(each.config))
    return frozenset(found)


def _grants_missing(realms: Sequence[str], catalogs: Collection[str], operations: Sequence[str]) -> str:
    everything = {
        "catalogs": sorted(catalogs),
        "locations": [_EXAMPLE_LOCATION],
        "operations": list(operations),
    }
    # JSON is valid YAML, whatever characters the names contain.
    section = json.dumps(dict.fromkeys(realms, everything), ensure_ascii=False)
    return (
        f"clients act for {len(realms)} realms, and none has a grant: add the following line "
        "here, and keep for each realm only what its tasks must access; "
        f"realms: {section}"
    )
