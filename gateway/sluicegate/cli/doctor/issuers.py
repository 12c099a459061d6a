"""Checks OIDC issuers: their discovery document, keys and clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial

from sluicegate.cli.doctor.http import Unreachable, clock_finding, get
from sluicegate.cli.doctor.results import Check, Finding
from sluicegate.config import OidcSettings, Settings

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
