"""The cache of encoded responses (docs/adr/0044): a budget of memory, and a short time."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from sluicegate._util.clock import epoch_ms
from sluicegate._util.lru import LRU
from sluicegate._util.timers import call_later
from sluicegate.http.compression import BodyEnd
from sluicegate.protocols.delta_sharing.query.response_key import (
    KeyMaker,
    ResponseKey,
    ResponseKeys,
)
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.protocols.delta_sharing.view import View
from sluicegate.protocols.presigning.signer import NO_FILES, IssuedUrls, Offered
from sluicegate.telemetry import count
from sluicegate.telemetry.metrics import gauge

# Milliseconds, and the part of the URLs' lifetime, after which a response is made again. Clients that
# request URLs shortly before the previous ones expire must get much later ones.
LONGEST_REUSE = 300_000
_PART_OF_LIFETIME = 10
# Parts of the budget that responses can use while they are recorded. The rest is for complete ones.
_PART_FOR_RECORDING = 4


@dataclass(frozen=True, slots=True)
class EncodedFiles:
    """What is known of a response when all of its files are encoded."""

    end: BodyEnd
    issued: IssuedUrls
    next_page: Continuation | None
    offered: Offered = NO_FILES


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An encoded response without its last line.

    Attributes:
        parts: The encoded bytes.
        issued_at: When the first URL was signed, epoch milliseconds.
        weight: Bytes of memory, including the key.
    """

    parts: tuple[bytes, ...] = field(repr=False)
    outcome: EncodedFiles
    issued_at: int
    snapshot: weakref.ref[object]
    weight: int

    def usable(self, now: int) -> bool:
        """Whether recipients can still get it, at a time in epoch milliseconds."""
        expires = self.outcome.issued.first_expiry
        reuse = LONGEST_REUSE
        if expires is not None:
            reuse = min(reuse, (expires - self.issued_at) // _PART_OF_LIFETIME)
        return self.issued_at <= now < self.issued_at + reuse


class ResponseCache:
    """Keeps responses that were sent completely, and returns them for equal requests for some time."""

    def __init__(
        self, max_bytes: int, *, share: bool = False, now: Callable[[], int] = epoch_ms
    ) -> None:
        self.now = now
        self._keys = KeyMaker(share)
        self._recordable = max_bytes // _PART_FOR_RECORDING
        self._recorded = 0
        self._kept: LRU[ResponseKey, CachedResponse] = LRU(
            max_bytes - self._recordable, lambda response: response.weight
        )
        self._sweep: asyncio.TimerHandle | None = None

    def keys(
        self, view: View, request: QueryRequest, start: Continuation, coding: str | None
    ) -> ResponseKeys | None:
        """The keys of a response. `None` if the cache is turned off, or cannot keep this response."""
        return self._keys.keys(view, request, start, coding) if self._recordable else None

    @property
    def weight(self) -> int:
        """Bytes of memory of the complete responses."""
        return self._kept.weight

    @property
    def recorded(self) -> int:
        """Bytes of memory of responses that are being recorded."""
        return self._recorded

    def get(self, keys: ResponseKeys, snapshot: object) -> CachedResponse | None:
        """The response for a request, if it can still be used and is about this snapshot."""
        found = self._usable(keys.personal, snapshot)
        if found is None and keys.shared is not None:
            found = self._usable(keys.shared, snapshot)
        count("sluicegate.answers", outcome="made" if found is None else "reused")
        return found

    def put(self, keys: ResponseKeys, response: CachedResponse) -> None:
        """Keep a complete response. One with URLs that contain the recipient is never shared."""
        if not response.usable(self.now()):
            return
        shared = None if response.outcome.issued.personal else keys.shared
        self._kept.put(shared or keys.personal, response)
        self._schedule_sweep()
        self._measure()

    def reserve(self, size: int) -> bool:
        """Reserve memory for recording, and return whether there is enough. `release` it later."""
        if self._recorded + size > self._recordable:
            return False
        self._recorded += size
        return True

    def release(self, size: int) -> None:
        """Release reserved memory."""
        self._recorded -= size

    def _usable(self, key: ResponseKey, snapshot: object) -> CachedResponse | None:
        found = self._kept.get(key)
        if found is None or found.snapshot() is not snapshot or not found.usable(self.now()):
            return None
        return found

    def _schedule_sweep(self) -> None:
        """Release the memory of responses that can no longer be used, even if no request arrives."""
        if self._sweep is None:
            self._sweep = call_later(LONGEST_REUSE / 1000, self._discard_unusable)

    def _discard_unusable(self) -> None:
        self._sweep = None
        now = self.now()
        self._kept.discard(lambda response: not response.usable(now))
        if len(self._kept):
            self._schedule_sweep()
        self._measure()

    def _measure(self) -> None:
        gauge("sluicegate.answers.memory", self._kept.weight)


# Bytes. Each part is sent separately, so that other requests are served in between, and that TLS, which
# encrypts a part at once, cannot occupy memory for all of them. Smaller parts cost more CPU.
_PART = 1_048_576
# Bytes: of a response and its key without their texts, and of the objects of a text in the key.
_OVERHEAD = 4_096
_BYTES_PER_CHARACTER = 4


class Recording:
    """Collects the parts of one response while it is sent.

    A response that does not fit into the memory for recordings is not collected any further.
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
        """Pass on the encoded parts. If all of them are taken, the response is kept."""
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
