"""Tests the access that vended credentials give, with requests to the store itself.

`StorageBehaviour` inherits these tests. They use the credentials as a recipient who also knows names of
other tables.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

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
from sluicegate_testing.secrets import keep_secret

PRINCIPAL = Principal("r-1", "acme", "test")
BRIEF_SECONDS = 2
# Seconds that a store's clock can be behind, and that it can take to detect the expiry.
_LATE_SECONDS = 5

_Put = Callable[[str, bytes], Awaitable[None]]


@pytest.mark.asyncio
class VendingBehaviour:
    """Part of `StorageBehaviour`. Skipped if the storage is not a `CredentialVendor`.

    Attributes:
        unchecked: Tests that the store under test does not support, with the reason: `sibling` (it does
            not limit credentials to a directory), `write` (it does not limit them to reading), `end`
            (it issues none that expire within seconds). Emulators may lack these features. In that
            case, test them in another way.
    """

    unchecked: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def vendor(self, subject: Storage) -> CredentialVendor:
        """The storage, if it vends credentials. Otherwise, the test is skipped."""
        if not isinstance(subject, CredentialVendor):
            pytest.skip("this storage is not a CredentialVendor")
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
        await _refuses("writes a new file", lambda: store.put_async(key("new"), b"mine"))
        await _refuses("overwrites a file", lambda: store.put_async(key("file"), b"mine"))
        await _refuses("deletes a file", lambda: store.delete_async(key("file")))
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
    """Fail unless the store rejects short-lived credentials after their expiry.

    Args:
        storage: Opens the store with the credentials.
        vendor: Vends the credentials.
        put: Writes an object without using the storage instance.
        seconds: Maximum lifetime of the credentials.
        wanted: Requested lifetime, if the storage rejects such a short one and the store is configured
            to issue shorter ones.

    Raises:
        AssertionError: They are valid for longer, or give access after their expiry.
    """
    location = f"{storage.prefix}brief"
    await put(f"{location}/file", b"content")
    vended = await _vended(vendor, location, wanted or seconds)
    assert vended.expires_at is not None, "the credentials do not expire"
    assert vended.expires_at <= (time.time() + seconds) * 1000, "the credentials are valid for too long"
    opened = await storage.open(location, vended)
    assert await _read(opened) == b"content"
    until = vended.expires_at / 1000 + _LATE_SECONDS
    while time.time() < until:
        try:
            await _read(opened)
        except (BaseError, OSError):
            return
        await asyncio.sleep(0.2)
    pytest.fail("the store accepts credentials after their expiry")


def outside_of(prefix: str) -> list[str]:
    """Return locations that are similar to the prefix, but not below it."""
    scheme, _, rest = prefix.partition("://")
    return [f"{prefix.rstrip('/')}-other/file", f"other-{scheme}://{rest}file"]


async def _vended(vendor: CredentialVendor, location: str, seconds: int = 3600) -> TemporaryCredentials:
    vended = await vendor.vend(Scope((location,), seconds, PRINCIPAL))
    keep_secret(*(value for name, value in vended.secret.items() if name != "access_key_id"))
    return vended


async def _beyond(
    storage: Storage, opened: ObjectDirectory, name: str, other: str, vended: TemporaryCredentials
) -> ObjectDirectory | None:
    """Open another directory with the same credentials; `None` if the storage cannot address it.

    A store whose root is the bucket is used directly, without the checks of the storage.
    """
    root = opened.key("").rstrip("/")
    if root.endswith(name):
        return ObjectDirectory(opened.store, root.removesuffix(name) + other.rpartition("/")[2])
    try:
        return await storage.open(other, vended)
    except SluicegateError:
        return None


async def _read(directory: ObjectDirectory) -> bytes:
    answer = await directory.store.get_async(directory.key("file"))
    return bytes(await answer.bytes_async())


async def _listed(directory: ObjectDirectory) -> None:
    """List a directory. An empty listing reveals no names and counts as rejected."""
    if not await directory.store.list(directory.key("")).collect_async():
        raise PermissionError


async def _refuses(what: str, work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except (BaseError, OSError):
        return
    pytest.fail(f"who has the credentials {what}")
