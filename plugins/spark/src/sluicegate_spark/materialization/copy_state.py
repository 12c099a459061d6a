"""What a version of a copy was made from, as its commit records it."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

_FORMAT: Final = 1  # if copies of the same sources become different ones, they are written again
_MEMBER: Final = "sluicegate"
_DIGESTS: Final = b"sluicegate: origin of a copy"


@dataclass(frozen=True, slots=True)
class Base:
    """Where the next incremental refresh begins."""

    basis: str
    version: int
    commit: str = ""
    refreshes: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What a version of a copy was made from.

    Attributes:
        base: Where the next refresh begins; `None` if it has to rebuild the copy.
    """

    origin: str
    refreshed_at: datetime
    base: Base | None = None

    def text(self) -> str:
        """Return the state as text for a commit."""
        return orjson.dumps({_MEMBER: self}).decode()

    @classmethod
    def parse(cls, text: str | None) -> State | None:
        """Return the state that a commit contains, or `None` if it contains none."""
        try:
            found = orjson.loads(text or "null")[_MEMBER]
            moment = datetime.fromisoformat(found["refreshed_at"])
            return cls(str(found["origin"]), moment, _base(found.get("base")))
        except (orjson.JSONDecodeError, TypeError, KeyError, ValueError):
            return None


def keyed_digest(key: bytes, *content: Any) -> str:
    """Return a digest of values of JSON for the state of a copy.

    It is keyed, because readers of the copy's log could otherwise try out possible values.
    """
    encoded = orjson.dumps([_FORMAT, *content], option=orjson.OPT_SORT_KEYS)
    return hmac.new(hmac.digest(key, _DIGESTS, "sha256"), encoded, hashlib.sha256).hexdigest()


def _base(found: Any) -> Base | None:
    if found is None:
        return None
    return Base(
        str(found["basis"]), int(found["version"]), str(found["commit"]), int(found["refreshes"])
    )
