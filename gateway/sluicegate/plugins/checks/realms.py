"""Checks the grants in `delegation.realms` against clients, catalogs and operations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from sluicegate.config import Settings
from sluicegate.config.yaml import Location, nearest

if TYPE_CHECKING:
    from sluicegate.plugins.configured import ConfiguredExecutor

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
