"""Generates the manifest lists, manifests and deletion vectors of views, and caches them."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Self

import anyio.to_thread

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.protocols.iceberg_rest.recipient_turns import RecipientTurns
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.telemetry import span

_KEPT_BYTES = 64 << 20
_MADE_AT_ONCE = 3
_MADE_FOR_ONE = 2
_TIMEOUT = 30.0  # seconds
_REFUSAL = "too many concurrent reads of such files; try again later"

Generate = Callable[[IcebergView, str], Awaitable[bytes]]
"""Returns the bytes of a file of a view by its name. The same view has the same bytes.

It raises `NotFound` if the view has no such file.
"""


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The bytes of a file, and their SHA-256, hexadecimal."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The file with these bytes."""
        return cls(content, hashlib.sha256(content).hexdigest())


class GeneratedFiles:
    """Generates files, a few at a time and each only once for concurrent requests.

    Clients read a file in several ranges.

    Args:
        generate: Generates a file.
        kept_bytes: Maximum size of the cache.
        at_once: Maximum number of files that are generated concurrently.
        for_one: The same for one recipient.
        timeout: Seconds that a request waits for its turn.
    """

    def __init__(
        self,
        generate: Generate,
        kept_bytes: int = _KEPT_BYTES,
        at_once: int = _MADE_AT_ONCE,
        for_one: int = _MADE_FOR_ONE,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._generate = generate
        self._kept: LRU[Hashable, GeneratedFile] = LRU(kept_bytes, lambda file: len(file.content))
        self._flights: SingleFlight[GeneratedFile] = SingleFlight()
        self._turns = RecipientTurns(at_once, for_one, timeout, _REFUSAL)

    async def get(
        self,
        recipient: str,
        key: Hashable,
        name: str,
        view: Callable[[], Awaitable[IcebergView]],
    ) -> GeneratedFile:
        """A file.

        Args:
            recipient: The id of the recipient.
            key: Identifies the view and the file.
            name: The file's name.
            view: Builds the view, if the file is not cached.

        Raises:
            NotFound: The view has no such file.
            Unavailable: Too many other files are being generated, or the table cannot be read now.
        """
        kept = self._kept.get(key)
        if kept is None:
            kept = await self._flights.run(key, lambda: self._made(recipient, key, name, view))
        return kept

    async def aclose(self) -> None:
        """Cancel the files that are being generated."""
        await self._flights.aclose()

    async def _made(
        self,
        recipient: str,
        key: Hashable,
        name: str,
        view: Callable[[], Awaitable[IcebergView]],
    ) -> GeneratedFile:
        async with self._turns.hold(recipient):
            with span("iceberg.generate"):
                content = await self._generate(await view(), name)
                made = await anyio.to_thread.run_sync(GeneratedFile.of, content)
        self._kept.put(key, made)
        return made
