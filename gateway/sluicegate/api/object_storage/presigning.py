"""Parts of presigning that all stores have in common: batches, lifetimes, and HMAC."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from sluicegate.api.errors import InvalidRequest, StorageError

if TYPE_CHECKING:
    from hashlib import _Hash

_BATCH: Final = 1024
_BLOCK: Final = 64  # bytes
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


async def batches(keys: Sequence[str]) -> AsyncIterator[Sequence[str]]:
    """Split keys into batches that are small enough that other requests run between them."""
    from anyio.lowlevel import checkpoint

    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]
        await checkpoint()


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


def hmac_states(key: bytes) -> tuple[_Hash, _Hash]:
    """The inner and the outer hash of HMAC-SHA256 (RFC 2104), before the message.

    Copying both for each message takes less time than copying an `hmac.HMAC`.
    """
    block = (key if len(key) <= _BLOCK else sha256(key).digest()).ljust(_BLOCK, b"\0")
    return sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))
