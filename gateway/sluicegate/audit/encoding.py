"""Encodes records as JSON of bounded size."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sluicegate.audit.records import AuditRecord

MAX_BODY = 64_000
"""Maximum number of bytes of an encoded record."""

# Characters and entries that are kept of a record that is too long.
_MAX_TEXT = 1_000
_MAX_ENTRIES = 20


def encode(record: AuditRecord) -> bytes:
    """Return a record as a JSON object.

    Texts of requests can contain what JSON can't, and changes can be as long as a shares file. Such
    records are changed as little as necessary: an unusual request must not escape the audit log.
    """
    try:
        body = orjson.dumps(values_of(record))
    except TypeError:  # half of a surrogate pair, a number of more than 64 bits, or another mapping
        body = orjson.dumps(_plain(values_of(record)))
    return body if len(body) <= MAX_BODY else _shortened(record)


def decode(body: bytes) -> AuditRecord:
    """Return the record of a JSON object that `encode` returned, possibly with more keys."""
    return record_of(orjson.loads(body))


def record_of(values: dict[str, Any]) -> AuditRecord:
    """Return the record with these values, of which it ignores those that aren't of a record."""
    try:
        known = {name: values[name] for name in AuditRecord.__slots__ if name in values}
        return AuditRecord(**known | {"changes": tuple(known.get("changes") or ())})
    except TypeError as error:
        raise ValueError(str(error)) from None


def values_of(record: AuditRecord) -> dict[str, Any]:
    """Return the values of a record, by name. Nested values aren't copied."""
    # Each response waits for this. A loop over the names takes three times as long.
    return {
        "at": record.at,
        "request_id": record.request_id,
        "actor_kind": record.actor_kind,
        "actor": record.actor,
        "actor_id": record.actor_id,
        "method": record.method,
        "address": record.address,
        "action": record.action,
        "resource": record.resource,
        "outcome": record.outcome,
        "status": record.status,
        "rule": record.rule,
        "issued": record.issued,
        "changes": record.changes,
        "share": record.share,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | float):
        return value
    return value if isinstance(value, int) and abs(value) < 1 << 63 else _plain(str(value))


def _shortened(record: AuditRecord) -> bytes:
    values = {
        name: _cut(value) if isinstance(value, str) else value
        for name, value in values_of(record).items()
    }
    changes = [_cut(each) for each in record.changes[:_MAX_ENTRIES]]
    if len(record.changes) > _MAX_ENTRIES:
        changes.append(f"… and {len(record.changes) - _MAX_ENTRIES} more")
    issued = {
        _cut(name): value if isinstance(value, int | float | None) else _cut(str(value))
        for name, value in list(record.issued.items())[:_MAX_ENTRIES]
    }
    return orjson.dumps(_plain(values | {"changes": changes, "issued": issued}))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Level 1: higher levels take longer, and save nothing here. Short blocks get longer by it.
_LEVEL = 1
_SHORTEST = 1_000
_LINE_BREAK = b"\n"
# Bytes of a decompressed block: more than a writer ever puts into one.
_LONGEST = 64_000_000


class Packer:
    """Makes blocks in sequence. It keeps a compressor: a new one takes longer than a block."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(_LEVEL)

    def pack(self, lines: Sequence[bytes]) -> bytes:
        """Return lines as one value, which is compressed if that saves space."""
        plain = _LINE_BREAK.join(lines)
        if len(plain) < _SHORTEST:
            return plain
        return self._compressor.compress(plain, zstd.ZstdCompressor.FLUSH_FRAME)


def unpack(packed: bytes) -> list[bytes]:
    """Return the lines of a value."""
    if packed.startswith(b"{"):
        return packed.split(_LINE_BREAK)
    decompressor = zstd.ZstdDecompressor()
    try:
        plain = decompressor.decompress(packed, max_length=_LONGEST)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("the block is too long or incomplete")
    return plain.split(_LINE_BREAK)
