"""Checks each storage: lists its prefix, reads an object, and opens a signed URL as recipients do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from obstore.exceptions import BaseError

from sluicegate.api import ObjectDirectory, Storage
from sluicegate.api.errors import SluicegateError, UnsupportedOperation
from sluicegate.cli.doctor.http import Answer, Unreachable, clock_finding, get
from sluicegate.cli.doctor.results import Check, Finding, failure_text

_MOST_BATCHES = 10
_BATCH = 100
# Other names can have several encodings, which isn't what these checks are about.
_PLAIN = re.compile(r"[A-Za-z0-9_./=-]+")


@dataclass(frozen=True, slots=True)
class Sample:
    """An object."""

    key: str
    name: str


async def find_sample(directory: ObjectDirectory) -> Sample | None:
    """Return one of the first objects in a directory that isn't empty; `None` if there is none."""
    batches = directory.store.list(directory.prefix or None, chunk_size=_BATCH)
    seen = 0
    async for batch in batches:
        for item in batch:
            name = item["path"].removeprefix(directory.prefix).lstrip("/")
            if item["size"] and _PLAIN.fullmatch(name):
                return Sample(item["path"], name)
        seen += 1
        if seen == _MOST_BATCHES:
            break
    return None


async def read_byte(directory: ObjectDirectory, key: str) -> None:
    """Read the first byte of an object."""
    await directory.store.get_range_async(key, start=0, length=1)


_ABSENT = ".sluicegate-doctor"
_URL_SECONDS = 60
_ACCESS = (
    "check bucket, region, endpoint and credentials of this storage, and what they may list and read"
)


def storage_checks(storages: Mapping[str, Storage], public_url: str) -> Iterator[Check]:
    """One check for each storage."""
    for name, storage in storages.items():
        title = f"{name} {storage.prefix}"
        yield Check("storage", title, partial(_check, storage, public_url), _ACCESS)


async def _check(storage: Storage, public_url: str) -> AsyncIterator[Finding]:
    try:
        directory = await storage.open(storage.prefix)
        sample = await find_sample(directory)
        if sample is not None:
            await read_byte(directory, sample.key)
    except (SluicegateError, BaseError, OSError) as error:
        yield Finding("failed", f"cannot be read: {failure_text(error)}", _ACCESS)
        clock = await _clock(storage)
        if clock is not None:
            yield clock
        return
    if sample is None:
        yield Finding("warning", "can be listed, but has no object to read", "write a table to it")
    else:
        yield Finding("ok", "can be listed and read")
    async for finding in _signed_url(storage, sample, public_url):
        yield finding


async def _signed_url(
    storage: Storage, sample: Sample | None, public_url: str
) -> AsyncIterator[Finding]:
    name = _ABSENT if sample is None else sample.name
    try:
        url = await _sign(storage, name)
    except UnsupportedOperation:
        yield Finding("skipped", "signed URLs: the gateway has no signing key yet")
        return
    own = urlsplit(url).netloc == urlsplit(public_url).netloc
    try:
        answer = await get(url, first_bytes=True)
    except Unreachable as error:
        if own:
            yield Finding("skipped", "signed URLs: the gateway does not run at public_url")
        else:
            remedy = "recipients need network access to this address: see public_endpoint"
            yield Finding("failed", f"signed URLs: {error}", remedy)
        return
    yield _opened(answer, sample)
    clock = clock_finding("the store", answer.clock_difference)
    if clock is not None:
        yield clock


def _opened(answer: Answer, sample: Sample | None) -> Finding:
    if answer.status in (200, 206):
        return Finding("ok", "a signed URL opens an object with plain HTTP")
    if answer.status == 404 and sample is None:
        return Finding("ok", "the store accepts signed URLs")
    remedy = "check the credentials that sign URLs, their permission to read, and public_endpoint"
    return Finding("failed", f"the store refuses a signed URL: {answer}", remedy)


async def _clock(storage: Storage) -> Finding | None:
    """The store's clock, which can be the reason for a refusal."""
    try:
        answer = await get(await _sign(storage, _ABSENT))
    except (SluicegateError, Unreachable):
        return None
    return clock_finding("the store", answer.clock_difference)


async def _sign(storage: Storage, name: str) -> str:
    return (await storage.presign([f"{storage.prefix}{name}"], _URL_SECONDS)).urls[0]
