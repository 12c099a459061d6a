"""Common parts of presigning in all stores: batches, and the lifetime of signatures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

import anyio.lowlevel

from sluicegate.api.errors import InvalidRequest, StorageError

_BATCH: Final = 1024


async def batches(keys: Sequence[str]) -> AsyncIterator[Sequence[str]]:
    """Split keys into batches that are small enough that other requests run between them."""
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]
        await anyio.lowlevel.checkpoint()


def signed_lifetime(at: int, wanted: int, longest: int, ends_at: int | None = None) -> int:
    """Return the lifetime of a signature in seconds.

    Args:
        at: Time of signing, epoch seconds.
        wanted: Requested lifetime in seconds.
        longest: Maximum lifetime that the store allows, in seconds.
        ends_at: Expiry of the signing credentials, epoch milliseconds; `None` is never.

    Raises:
        InvalidRequest: The requested lifetime is less than a second.
        StorageError: The signing credentials have expired.
    """
    if wanted < 1:
        raise InvalidRequest("a presigned URL must be valid for at least one second")
    lifetime = min(wanted, longest)
    if ends_at is not None:
        lifetime = min(lifetime, ends_at // 1000 - at)
    if lifetime < 1:
        raise StorageError("the gateway's session with this storage has ended; try again in a moment")
    return lifetime
