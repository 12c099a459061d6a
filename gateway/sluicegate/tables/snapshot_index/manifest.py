"""The manifest of an index: which version it contains, and the digests of its files.

It is written last and replaced atomically, so that an index is complete or absent. It is authenticated
with a key of the gateway: who can only write to the folder cannot add a file to a table.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import orjson

from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.snapshot import TableMetadata, TableProtocol
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.layout import FORMAT

_PURPOSE = "snapshot index"


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of an index.

    Attributes:
        bytes: Its size.
    """

    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class LookupRef:
    """A file that finds parts by keys, and the range of keys in it."""

    file: FileRef
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index contains.

    Attributes:
        timestamp: When that version was committed, epoch milliseconds.
        sorted_by: The path of the data column by which the files of a partition are sorted.
        built: When the index was written, epoch milliseconds.
    """

    table: str
    location: str
    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    newest: LogFile
    files: int
    sorted_by: tuple[str, ...] | None
    built: int
    summary: FileRef
    partitions: FileRef
    lookups: tuple[LookupRef, ...]

    def encode(self, keys: KeyRing) -> bytes:
        """The authenticated content of the manifest's file."""
        payload = orjson.dumps({"format": FORMAT, **asdict(self)})
        tag = _tag(keys.derive(_PURPOSE).signing, payload)
        return orjson.dumps({"payload": payload.decode(), "mac": tag.hex()})

    @classmethod
    def decode(cls, content: bytes, keys: KeyRing) -> Self:
        """Parse the content of a manifest's file."""
        try:
            document = orjson.loads(content)
            payload, tag = document["payload"].encode(), bytes.fromhex(document["mac"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise IndexUnusable("the manifest is damaged") from None
        if not keys.derive(_PURPOSE).accepts(tag, lambda key: _tag(key, payload)):
            raise IndexUnusable("the manifest was not written with a key of this gateway")
        values = orjson.loads(payload)
        if values.pop("format") != FORMAT:
            raise IndexUnusable("the index was written by another version of the gateway")
        return cls(**_parsed(values))

    def references(self) -> Sequence[FileRef]:
        """The files that the manifest itself names."""
        return [self.summary, self.partitions, *(each.file for each in self.lookups)]


def _tag(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")


def _parsed(values: dict[str, Any]) -> dict[str, Any]:
    return values | {
        "protocol": TableProtocol(**_with_tuples(values["protocol"])),
        "metadata": TableMetadata(**_with_tuples(values["metadata"])),
        "newest": LogFile(**values["newest"]),
        "sorted_by": None if values["sorted_by"] is None else tuple(values["sorted_by"]),
        "summary": FileRef(**values["summary"]),
        "partitions": FileRef(**values["partitions"]),
        "lookups": tuple(
            LookupRef(FileRef(**each["file"]), each["first"], each["last"])
            for each in values["lookups"]
        ),
    }


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
