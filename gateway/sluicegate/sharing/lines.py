"""What both response formats share when columns are joined into NDJSON lines."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api import Presigned


@dataclass(frozen=True, slots=True)
class At:
    """The version that was asked for by time travel; files then carry it."""

    version: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class TableTotals:
    """Size in bytes and number of the files that the recipient may see."""

    size: int
    files: int


def line(value: Mapping[str, Any]) -> bytes:
    """One NDJSON line; keys without a value are left out."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def present(**values: Any) -> dict[str, Any]:
    """The values that are not `None`."""
    return {key: value for key, value in values.items() if value is not None}


def escape(texts: Sequence[str]) -> list[str]:
    """Each text as a JSON string, quotes included."""
    dumps = orjson.dumps
    return [dumps(text).decode() for text in texts]


def optional(column: Sequence[str | None], key: str) -> list[str]:
    """For each text a JSON member `,"key":"text"`, or nothing where it is null."""
    dumps = orjson.dumps
    head = f',"{key}":'
    return [head + dumps(text).decode() if text is not None else "" for text in column]


def file_ids(paths: Sequence[str], hash_name: str) -> list[str]:
    """Stable ids of files: a hash of the path (since-the-seed.md, "fileidhash")."""
    digest: Callable[..., Any] = hashlib.md5 if hash_name == "md5" else hashlib.sha256
    return [digest(path.encode(), usedforsecurity=False).hexdigest() for path in paths]


def expiration(presigned: Presigned) -> str:
    """The member that tells when a URL expires, epoch milliseconds."""
    return f',"expirationTimestamp":{presigned.expires_at}'


def travelled(at: At | None) -> str:
    """The members that a file carries in answers to time travel."""
    return "" if at is None else f',"version":{at.version},"timestamp":{at.timestamp}'
