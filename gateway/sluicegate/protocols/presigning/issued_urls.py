"""Facts about the URLs of a response."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offered:
    """Data files whose URLs a response contains.

    Attributes:
        files: Number of files, without those of deletion vectors.
        size: Bytes of these files.
    """

    files: int = 0
    size: int = 0

    def __add__(self, other: Offered) -> Offered:
        return Offered(self.files + other.files, self.size + other.size)


NO_FILES = Offered()


@dataclass(frozen=True, slots=True)
class IssuedUrls:
    """The URLs of a complete response.

    Attributes:
        files: Number of URLs.
        first_expiry: The first expiry, epoch milliseconds. `None` without URLs.
        last_expiry: The last expiry, epoch milliseconds. `None` without URLs.
        personal: Whether a URL contains the recipient.
    """

    files: int
    first_expiry: int | None
    last_expiry: int | None
    personal: bool
