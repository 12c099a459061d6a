"""What presigning is like in every store: in batches, and never beyond what signs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

import anyio.lowlevel

from sluicegate.errors import InvalidRequest, StorageError

_BATCH: Final = 1024


async def batches(keys: Sequence[str]) -> AsyncIterator[Sequence[str]]:
    """The keys in runs short enough to sign at once; other requests have a turn after each."""
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]
        await anyio.lowlevel.checkpoint()


def signed_lifetime(at: int, wanted: int, longest: int, ends_at: int | None = None) -> int:
    """Seconds that a signature lives.

    Args:
        at: The signing instant, epoch seconds.
        wanted: Seconds that were asked for.
        longest: Seconds that the store allows.
        ends_at: When what signs ends, epoch milliseconds; `None` is never.

    Raises:
        InvalidRequest: Less than a second was asked for.
        StorageError: What signs has ended.
    """
    if wanted < 1:
        raise InvalidRequest("a presigned URL must live for at least one second")
    lifetime = min(wanted, longest)
    if ends_at is not None:
        lifetime = min(lifetime, ends_at // 1000 - at)
    if lifetime < 1:
        raise StorageError("the gateway's session with this storage has ended; try again in a moment")
    return lifetime
