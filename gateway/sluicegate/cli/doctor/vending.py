"""Checks temporary credentials: they open their directory, and nothing next to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from sluicegate._util.clock import epoch_ms
from sluicegate.api import CredentialVendor, Principal, Scope, Storage, TemporaryCredentials
from sluicegate.api.errors import PermissionDenied, SluicegateError
from sluicegate.cli.doctor.results import Check, Finding, failure_text
from sluicegate.cli.doctor.storage import find_sample, read_byte

_LIFETIME = 900
NOBODY = Principal("sluicegate-doctor", "sluicegate-doctor", "doctor")
"""The principal of credentials that the command requests for itself."""

_ROLE = "check that the role can be assumed with these credentials, and what the role may read"
_REFUSED = re.compile(r"status(?: code)?:? 40[13]\b|AccessDenied|os error 13\b")


def vending_checks(storages: Mapping[str, Storage]) -> Iterator[Check]:
    """One check for each storage that vends credentials."""
    for name, storage in storages.items():
        if isinstance(storage, CredentialVendor) and storage.vends(storage.prefix):
            title = f"credentials of {name} {storage.prefix}"
            yield Check("vending", title, partial(_check, storage, storage), _ROLE)


async def _check(storage: Storage, vendor: CredentialVendor) -> AsyncIterator[Finding]:
    sample = await find_sample(await storage.open(storage.prefix))
    folder = sample.name.rpartition("/")[0] if sample else ""
    if not folder:
        yield Finding("skipped", "the storage has no directory with an object to read")
        return
    async for finding in try_credentials(vendor, storage, f"{storage.prefix}{folder}"):
        yield finding


async def try_credentials(
    vendor: CredentialVendor, storage: Storage, location: str
) -> AsyncIterator[Finding]:
    """Request credentials for a directory, and use them there and around it."""
    credentials = await vendor.vend(Scope((location,), _LIFETIME, NOBODY))
    yield _issued(credentials)
    try:
        directory = await storage.open(location, credentials)
        sample = await find_sample(directory)
        if sample is not None:
            await read_byte(directory, sample.key)
    except (SluicegateError, BaseError, OSError) as error:
        yield Finding("failed", f"they cannot read their directory: {failure_text(error)}", _ROLE)
        return
    yield Finding("ok", "they read their directory")
    if location.rstrip("/") != storage.prefix.rstrip("/"):
        yield await _outside(storage, credentials)


def _issued(credentials: TemporaryCredentials) -> Finding:
    if credentials.expires_at is None:
        remedy = "configure another binding than 'full': these credentials never expire"
        return Finding("warning", "issued, without an expiry", remedy)
    minutes = (credentials.expires_at - epoch_ms()) / 60_000
    return Finding("ok", f"issued for {minutes:.0f} min")


async def _outside(storage: Storage, credentials: TemporaryCredentials) -> Finding:
    """Try to list the entire storage with the credentials of one directory."""
    try:
        await find_sample(await storage.open(storage.prefix, credentials))
    except (PermissionDenied, PermissionDeniedError, UnauthenticatedError):
        return Finding("ok", "the store refuses them next to it")
    except (SluicegateError, BaseError, OSError) as error:
        if _REFUSED.search(str(error)):
            return Finding("ok", "the store refuses them next to it")
        text = failure_text(error)
        return Finding("warning", f"not known whether the store refuses them next to it: {text}")
    return Finding(
        "failed",
        "they also list what is next to their directory",
        "the store must support the session policies or delegation SAS of this storage; until it does, "
        "remove vending",
    )
