"""Files that recipients get and no store holds: the table's format makes them when they are fetched.

A deletion vector that is too large for an answer, for example, whose rows are told by files of another
shape. What a file holds is settled when an answer names it: the name has the digest of its bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Self

import anyio
import anyio.to_thread

from sluicegate.errors import NotFound, TableUnreadable, Unavailable
from sluicegate.lru import LRU
from sluicegate.tables.singleflight import SingleFlight
from sluicegate.telemetry import span

# The `storageType` of a deletion vector in such a file; its `pathOrInlineDv` is the file as text.
DERIVED: Final = "derived"

_KEPT_BYTES = 64 << 20
_MADE_AT_ONCE = 2
_PATIENCE = 30.0  # seconds
_TEXT = re.compile("(?P<digest>[0-9a-f]{64}) (?P<recipe>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A file that a format makes; as text `DIGEST RECIPE`.

    Attributes:
        digest: SHA-256 of its bytes, hexadecimal: files of one digest are the same.
        recipe: What the format makes it from, opaque to everybody else. It goes into a URL, so it is
            short, and it holds no secret.
    """

    digest: str
    recipe: str

    @classmethod
    def of(cls, content: bytes, recipe: str) -> Self:
        """The file of these bytes."""
        return cls(hashlib.sha256(content).hexdigest(), recipe)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote.

        Raises:
            TableUnreadable: It is something else.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise TableUnreadable("the table names a file that its format does not make", detail=text)
        return cls(**match.groupdict())

    def __str__(self) -> str:
        return f"{self.digest} {self.recipe}"

    def check(self, content: bytes) -> None:
        """Make sure that these are its bytes.

        Raises:
            NotFound: They are others.
        """
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise _gone("its bytes have another digest now")


class DerivedFiles:
    """Makes files, few at a time, each once however many ask, and keeps what was made lately.

    Clients read a file in several ranges, and whoever waits holds little memory: so they wait.

    Args:
        kept_bytes: What is kept at most.
        at_once: How many are made at the same time.
        patience: Seconds that a request waits for its turn.
    """

    def __init__(
        self,
        kept_bytes: int = _KEPT_BYTES,
        at_once: int = _MADE_AT_ONCE,
        patience: float = _PATIENCE,
    ) -> None:
        self._kept: LRU[str, bytes] = LRU(kept_bytes, len)
        self._flights: SingleFlight[bytes] = SingleFlight()
        self._turns = anyio.Semaphore(at_once)
        self._patience = patience

    async def get(
        self, table: Hashable, file: DerivedFile, make: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The bytes of a file.

        Args:
            table: Tells the table from all others.
            file: One of its files.
            make: Has the format make it.

        Raises:
            NotFound: It cannot be made any more: the table has let go of what it is made from.
            Unavailable: The store does not answer, or too many others are being made.
        """
        return self._kept.get(file.digest) or await self._flights.run(
            (table, file), lambda: self._made(file, make)
        )

    async def aclose(self) -> None:
        """Cancel what is still being made."""
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
            with anyio.fail_after(self._patience):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable("too many files of this kind are read at once; try again later") from None


def _gone(detail: str) -> NotFound:
    return NotFound(
        "the file of this link cannot be had any more: query the table again", detail=detail
    )
