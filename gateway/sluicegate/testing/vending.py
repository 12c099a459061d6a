"""What credentials that a storage vends must open, and what not: shown on the store itself.

`StorageBehaviour` inherits these tests. They use the credentials as a recipient does who knows other
names than those of its table.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

import obstore
import pytest
from obstore.exceptions import BaseError

from sluicegate.api import (
    CredentialVendor,
    ObjectDirectory,
    Principal,
    Scope,
    SluicegateError,
    Storage,
    TemporaryCredentials,
)
from sluicegate.testing.secrets import keep_secret

PRINCIPAL = Principal("r-1", "acme", "test")
BRIEF_SECONDS = 2
# What a store's clock may be behind, and what it may take to notice.
_LATE_SECONDS = 5

_Put = Callable[[str, bytes], Awaitable[None]]


@pytest.mark.asyncio
class VendingBehaviour:
    """Part of `StorageBehaviour`; skipped where the storage is no `CredentialVendor`.

    Attributes:
        unchecked: What the store under test cannot show, and why: `sibling` (it does not limit
            credentials to a directory), `write` (nor to reading), `end` (it issues none that end
            within seconds). Emulators may lack these; show it by other means then.
    """

    unchecked: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def vendor(self, subject: Storage) -> CredentialVendor:
        """The storage, where it vends credentials."""
        if not isinstance(subject, CredentialVendor):
            pytest.skip("this storage is no CredentialVendor")
        return subject

    async def test_credentials_open_what_was_asked_and_end_in_time(
        self, subject: Storage, vendor: CredentialVendor, put: _Put
    ) -> None:
        location = f"{subject.prefix}vended"
        await put(f"{location}/file", b"content")
        before = time.time()
        vended = await _vended(vendor, location)
        assert vended.expires_at is not None
        assert before * 1000 < vended.expires_at <= (time.time() + 3600) * 1000
        assert await _read(await subject.open(location, vended)) == b"content"
        assert not any(value in repr(vended) for value in vended.secret.values())

    @pytest.mark.parametrize("sibling", ["neighbour", "vended2", "vende"])
    async def test_credentials_open_no_sibling(
        self, subject: Storage, vendor: CredentialVendor, put: _Put, sibling: str
    ) -> None:
        self._skip_if_unchecked("sibling")
        location, other = f"{subject.prefix}vended", f"{subject.prefix}{sibling}"
        await put(f"{location}/file", b"content")
        await put(f"{other}/file", b"private")
        assert await _read(await subject.open(other)) == b"private"
        vended = await _vended(vendor, location)
        opened = await subject.open(location, vended)
        beyond = await _beyond(subject, opened, "vended", other, vended)
        if beyond is not None:
            await _refuses(f"reads {other}", lambda: _read(beyond))
            await _refuses(f"lists {other}", lambda: _listed(beyond))
        assert await _read(opened) == b"content"

    async def test_credentials_do_not_write(
        self, subject: Storage, vendor: CredentialVendor, put: _Put
    ) -> None:
        self._skip_if_unchecked("write")
        location = f"{subject.prefix}vended"
        await put(f"{location}/file", b"content")
        opened = await subject.open(location, await _vended(vendor, location))
        store, key = opened.store, opened.key
        await _refuses("writes a new file", lambda: obstore.put_async(store, key("new"), b"mine"))
        await _refuses("overwrites a file", lambda: obstore.put_async(store, key("file"), b"mine"))
        await _refuses("deletes a file", lambda: obstore.delete_async(store, key("file")))
        assert await _read(opened) == b"content"

    async def test_the_store_refuses_credentials_that_have_ended(
        self, subject: Storage, vendor: CredentialVendor, put: _Put
    ) -> None:
        self._skip_if_unchecked("end")
        await check_end(subject, vendor, put)

    async def test_credentials_are_not_vended_for_what_lies_outside(
        self, subject: Storage, vendor: CredentialVendor
    ) -> None:
        for outside in outside_of(subject.prefix):
            with pytest.raises(SluicegateError):
                await vendor.vend(Scope((outside,), 3600, PRINCIPAL))

    def _skip_if_unchecked(self, what: str) -> None:
        if what in self.unchecked:
            pytest.skip(self.unchecked[what])


async def check_end(
    storage: Storage,
    vendor: CredentialVendor,
    put: _Put,
    *,
    seconds: int = BRIEF_SECONDS,
    wanted: int | None = None,
) -> None:
    """Fail unless the store refuses brief credentials once they have ended.

    Args:
        storage: Opens the store with them.
        vendor: Vends them.
        put: Writes an object, past the storage.
        seconds: How long they live at most.
        wanted: The life in the scope, where a storage refuses so short a one and the store is
            configured to end credentials sooner.

    Raises:
        AssertionError: They live longer, or open something after their end.
    """
    location = f"{storage.prefix}brief"
    await put(f"{location}/file", b"content")
    vended = await _vended(vendor, location, wanted or seconds)
    assert vended.expires_at is not None, "the credentials have no end"
    assert vended.expires_at <= (time.time() + seconds) * 1000, "the credentials live for too long"
    opened = await storage.open(location, vended)
    assert await _read(opened) == b"content"
    until = vended.expires_at / 1000 + _LATE_SECONDS
    while time.time() < until:
        try:
            await _read(opened)
        except (BaseError, OSError):
            return
        await asyncio.sleep(0.2)
    pytest.fail("the store takes credentials after their end")


def outside_of(prefix: str) -> list[str]:
    """Locations that look as if they lay below the prefix."""
    scheme, _, rest = prefix.partition("://")
    return [f"{prefix.rstrip('/')}-other/file", f"other-{scheme}://{rest}file"]


async def _vended(vendor: CredentialVendor, location: str, seconds: int = 3600) -> TemporaryCredentials:
    vended = await vendor.vend(Scope((location,), seconds, PRINCIPAL))
    keep_secret(*(value for name, value in vended.secret.items() if name != "access_key_id"))
    return vended


async def _beyond(
    storage: Storage, opened: ObjectDirectory, name: str, other: str, vended: TemporaryCredentials
) -> ObjectDirectory | None:
    """Another directory by the same credentials; `None` where the storage cannot even name it.

    A store that is rooted at its bucket is used as it is, past what the storage checks itself.
    """
    root = opened.key("").rstrip("/")
    if root.endswith(name):
        return ObjectDirectory(opened.store, root.removesuffix(name) + other.rpartition("/")[2])
    try:
        return await storage.open(other, vended)
    except SluicegateError:
        return None


async def _read(directory: ObjectDirectory) -> bytes:
    answer = await obstore.get_async(directory.store, directory.key("file"))
    return bytes(await answer.bytes_async())


async def _listed(directory: ObjectDirectory) -> None:
    """List it; an empty listing, which shows no name, counts as refused."""
    if not await obstore.list(directory.store, directory.key("")).collect_async():
        raise PermissionError


async def _refuses(what: str, work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except (BaseError, OSError):
        return
    pytest.fail(f"who has the credentials {what}")
