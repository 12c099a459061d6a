"""Checks that each catalog responds."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

from sluicegate.api import Catalog
from sluicegate.cli.doctor.results import Check, Finding

_SLOW_SECONDS = 5.0


def catalog_checks(catalogs: Mapping[str, Catalog]) -> Iterator[Check]:
    """One check for each catalog."""
    remedy = "check the catalog's address and the gateway's credentials there"
    for name, catalog in catalogs.items():
        yield Check("catalogs", f"catalog {name}", partial(_listing, catalog), remedy)


async def _listing(catalog: Catalog) -> AsyncIterator[Finding]:
    started = time.monotonic()
    schemas = await catalog.list_schemas()
    if not schemas:
        yield Finding("ok", f"responds, and lists no schema: {catalog.reason_for_no_schemas}")
        return
    tables = await catalog.listed_tables(schemas[0])
    seconds = time.monotonic() - started
    message = f"schemas: {len(schemas)}; tables in '{schemas[0]}': {len(tables)} ({seconds:.1f} s)"
    if seconds > _SLOW_SECONDS:
        yield Finding("warning", message, "recipients wait as long: see max_age of the catalog")
    else:
        yield Finding("ok", message)
