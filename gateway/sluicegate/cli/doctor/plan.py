"""Collects the checks of a deployment, and runs them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sluicegate.api import Catalog, LinkSigner
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.doctor.addresses import address_checks
from sluicegate.cli.doctor.database import database_checks
from sluicegate.cli.doctor.http import Unreachable, clock_finding, get
from sluicegate.cli.doctor.results import Check, CheckResult, Finding, run_checks
from sluicegate.cli.doctor.shared_tables import check_shared_tables, check_timestamps
from sluicegate.cli.doctor.storage import storage_checks
from sluicegate.cli.doctor.vending import vending_checks
from sluicegate.config import OidcSettings, Settings
from sluicegate.config.served_address import reachable

if TYPE_CHECKING:
    from sluicegate.plugins import Instances


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


_REMEDY = "check issuer and jwks_uri, and that this machine can connect to them"


def issuer_checks(settings: Settings) -> Iterator[Check]:
    """One check for each issuer."""
    for section in settings.authentication.oidc:
        yield Check("issuers", section.issuer, partial(_check, section), _REMEDY)


async def _check(section: OidcSettings) -> AsyncIterator[Finding]:
    from sluicegate.access.authentication.oidc.fetch import FetchFailed
    from sluicegate.access.authentication.oidc.keys import KeyFetcher

    fetcher = KeyFetcher(section)
    try:
        await fetcher.fetch()
        yield Finding("ok", "the keys are available")
    except FetchFailed as error:
        yield Finding("failed", str(error), _REMEDY)
        return
    finally:
        await fetcher.aclose()
    try:
        answer = await get(section.jwks_uri or section.issuer)
    except Unreachable:
        return
    if (clock := clock_finding("the issuer", answer.clock_difference)) is not None:
        yield clock


GROUPS = (
    "configuration",
    "database",
    "catalogs",
    "storage",
    "vending",
    "tables",
    "address",
    "tls",
    "issuers",
)
_CORRECT = "correct the configuration; `sluicegate config check` shows all problems"


async def diagnose(settings: Settings, groups: Collection[str], timeout: float) -> list[CheckResult]:
    """Run the checks of the given groups against a deployment."""
    try:
        instances = _instances(settings)
    except ConfigurationError as error:
        lines = error.message.splitlines()
        checks = [*_broken(lines), *_without_plugins(settings)]
        return await run_checks([each for each in checks if each.group in groups], timeout)
    try:
        public_url = _running(settings).public_url
        checks = [
            Check("configuration", "gateway.yaml", partial(_found, [Finding("ok", "is valid")])),
            *_without_plugins(settings),
            *catalog_checks(instances.catalogs),
            *storage_checks(instances.storages, public_url),
            *vending_checks(instances.storages),
            Check("vending", "tables with dir", partial(check_shared_tables, settings, instances)),
            Check("tables", "timestamps", partial(check_timestamps, settings, instances)),
        ]
        return await run_checks([each for each in checks if each.group in groups], timeout)
    finally:
        await instances.aclose()


async def report_invalid(lines: Sequence[str]) -> list[CheckResult]:
    """The outcomes for a configuration that cannot be loaded."""
    return await run_checks(list(_broken(lines)), timeout=1)


def _broken(lines: Sequence[str]) -> Iterator[Check]:
    findings = [Finding("failed", line, _CORRECT) for line in lines]
    yield Check("configuration", "gateway.yaml", partial(_found, findings))
    skipped = [Finding("skipped", "the configuration is not valid")]
    for group in ("catalogs", "storage", "vending", "tables"):
        yield Check(group, group, partial(_found, skipped))


async def _found(findings: Sequence[Finding]) -> AsyncIterator[Finding]:
    for finding in findings:
        yield finding


def _without_plugins(settings: Settings) -> Iterator[Check]:
    try:
        yield from database_checks(settings)
    except ConfigurationError as error:
        yield Check("database", "database", partial(_found, [Finding("failed", error.message)]))
    yield from address_checks(settings)
    yield from issuer_checks(settings)


def _running(settings: Settings) -> Settings:
    try:
        return reachable(settings)
    except ConfigurationError:  # the port is open, and the gateway doesn't run
        return settings


def _instances(settings: Settings) -> Instances:
    from sluicegate.plugins import Instances, Registry, configure

    registry = Registry.load(settings)
    return Instances(registry, configure(settings, registry), links=_links(settings))


def _links(settings: Settings) -> Callable[[str], LinkSigner]:
    """Signs links as the gateway does, but never creates its key."""
    from sluicegate.plugins.context import NoLinks
    from sluicegate.protocols.file_links.links import link_maker
    from sluicegate.signing.load import load_keys, signing_key_path

    try:
        if settings.signing_key is None and not signing_key_path(settings).exists():
            return NoLinks
        return link_maker(_running(settings).public_url, load_keys(settings))
    except ConfigurationError:
        return NoLinks
