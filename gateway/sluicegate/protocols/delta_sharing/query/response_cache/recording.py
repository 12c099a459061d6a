"""Records a response while it is sent, so that the next equal request gets the same bytes."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Iterator

from sluicegate.protocols.delta_sharing.query.response_cache.cache import (
    CachedResponse,
    EncodedFiles,
    ResponseCache,
)
from sluicegate.protocols.delta_sharing.query.response_cache.key import ResponseKeys

# Bytes. Each part is sent separately, so that other requests are served in between, and that TLS, which
# encrypts a part at once, cannot occupy memory for all of them. Smaller parts cost more CPU.
_PART = 1_048_576
# Bytes: of a response and its key without their texts, and of the objects of a text in the key.
_OVERHEAD = 4_096
_BYTES_PER_CHARACTER = 4


class Recording:
    """Collects the parts of one response while it is sent.

    A response that does not fit into the memory for recordings is not collected any further.

    Args:
        cache: Keeps the response when it is complete.
        keys: Its keys. `None` if it is not to be kept.
        snapshot: The snapshot that it is about.
    """

    def __init__(self, cache: ResponseCache, keys: ResponseKeys | None, snapshot: object) -> None:
        self._cache = cache
        self._keys = keys
        self._snapshot = snapshot
        self._issued_at = cache.now()
        self._parts: list[bytes] = []
        self._size = 0

    async def record(
        self, parts: AsyncIterator[bytes], outcome: Callable[[], EncodedFiles]
    ) -> AsyncIterator[bytes]:
        """Pass on the encoded parts. If all of them are taken, the response is kept.

        Args:
            parts: The response without its last line.
            outcome: Called after the last part.
        """
        try:
            async for part in parts:
                self._add(part)
                yield part
            if self._keys is not None:
                self._keep(self._keys, outcome())
        finally:
            self._drop()

    def _add(self, part: bytes) -> None:
        if self._keys is None:
            return
        if self._cache.reserve(len(part)):
            self._parts.append(part)
            self._size += len(part)
        else:
            self._drop()

    def _keep(self, keys: ResponseKeys, outcome: EncodedFiles) -> None:
        texts = len(repr(keys.personal)) * _BYTES_PER_CHARACTER
        response = CachedResponse(
            parts=tuple(_joined(self._parts)),
            outcome=outcome,
            issued_at=self._issued_at,
            snapshot=weakref.ref(self._snapshot),
            weight=self._size + texts + _OVERHEAD,
        )
        self._cache.put(keys, response)

    def _drop(self) -> None:
        self._cache.release(self._size)
        self._keys, self._parts, self._size = None, [], 0


def _joined(parts: list[bytes]) -> Iterator[bytes]:
    """The parts, with short ones joined."""
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        if size + len(part) > _PART and gathered:
            yield b"".join(gathered)
            gathered, size = [], 0
        gathered.append(part)
        size += len(part)
    if gathered:
        yield b"".join(gathered)
