"""Files for recipients that no store contains: the table's format generates them on demand.

An example is a deletion vector that is too large for a response, and whose rows the table stores in
another file format. The content of a file is fixed when a response names it: the name contains the
digest of its bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Self

import anyio
import anyio.to_thread

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.api.errors import NotFound, TableUnreadable, Unavailable
from sluicegate.telemetry import span

DERIVED: Final = "derived"
"""The `storageType` of a vector in a `DerivedFile`, whose text is in `pathOrInlineDv`."""

_KEPT_BYTES = 64 << 20
_MADE_AT_ONCE = 2
_TIMEOUT = 30.0  # seconds
_TEXT = re.compile("(?P<digest>[0-9a-f]{64}) (?P<recipe>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A file that a format generates. Its text form is `DIGEST RECIPE`.

    Attributes:
        digest: SHA-256 of its bytes, hexadecimal. Files with the same digest are identical.
        recipe: The format's instructions for generating it, opaque to other code. It becomes part of a
            URL, so it must be short and must not contain secrets.
    """

    digest: str
    recipe: str

    @classmethod
    def of(cls, content: bytes, recipe: str) -> Self:
        """The file with these bytes."""
        return cls(hashlib.sha256(content).hexdigest(), recipe)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`.

        Raises:
            TableUnreadable: The text has a different form.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise TableUnreadable("the table names a file that its format does not make", detail=text)
        return cls(**match.groupdict())

    def __str__(self) -> str:
        return f"{self.digest} {self.recipe}"

    def check(self, content: bytes) -> None:
        """Check that these are the file's bytes.

        Raises:
            NotFound: The digest differs.
        """
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise _gone("the digest of its bytes has changed")


class DerivedFiles:
    """Generates files, a few at a time and each only once for concurrent requests, and caches them.

    Clients read a file in several ranges. Requests wait for their turn, because waiting takes little
    memory.

    Args:
        kept_bytes: Maximum size of the cache.
        at_once: Maximum number of files that are generated concurrently.
        timeout: Seconds that a request waits for its turn.
    """

    def __init__(
        self,
        kept_bytes: int = _KEPT_BYTES,
        at_once: int = _MADE_AT_ONCE,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._kept: LRU[str, bytes] = LRU(kept_bytes, len)
        self._flights: SingleFlight[bytes] = SingleFlight()
        self._turns = anyio.Semaphore(at_once)
        self._timeout = timeout

    async def get(
        self, table: Hashable, file: DerivedFile, make: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The bytes of a file.

        Args:
            table: Identifies the table.
            file: One of its files.
            make: Generates the file through the format.

        Raises:
            NotFound: It can no longer be generated: the table no longer has the files that it is
                generated from.
            Unavailable: The store does not respond, or too many other files are being generated.
        """
        return self._kept.get(file.digest) or await self._flights.run(
            (table, file), lambda: self._made(file, make)
        )

    async def aclose(self) -> None:
        """Cancel the files that are being generated."""
        await self._flights.aclose()

    async def _made(self, file: DerivedFile, make: Callable[[], Awaitable[bytes]]) -> bytes:
        await self._wait_for_turn()
        try:
            with span("derive"):
                content = await make()
                await anyio.to_thread.run_sync(file.check, content)
        except TableUnreadable as error:
            raise _gone(error.for_operators) from error
        finally:
            self._turns.release()
        self._kept.put(file.digest, content)
        return content

    async def _wait_for_turn(self) -> None:
        try:
            with anyio.fail_after(self._timeout):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable("too many concurrent reads of such files; try again later") from None


def _gone(detail: str) -> NotFound:
    return NotFound(
        "the file of this link is no longer available: query the table again", detail=detail
    )
