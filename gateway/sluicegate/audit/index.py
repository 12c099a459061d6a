"""What the index of the audit log says: which names and ids the records of a range contain, as hashes.

Nothing in an index decides alone whether a record exists. Its rows are sealed, and a search reads all
records of a range without an authentic row.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.records import AuditRecord
from sluicegate.database.names import name_key

Name = tuple[str, str]
"""A kind of names, and a name as it is compared."""

_PURPOSE = "audit log index"
_HASH = 4  # bytes: in a range of 10,000 names, one of 400,000 others seems to be there
_ID = 8
# A resource has three levels. More would be hashed for each record that a client makes up.
_MOST_LEVELS = 8


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A row of `audit_index`: what the records of some entire blocks in sequence contain.

    Attributes:
        names: Id of the key, and sorted hashes.
    """

    chain: int
    first_seq: int
    last_seq: int
    names: bytes
    seal: bytes


def names_of(record: AuditRecord) -> Iterator[Name]:
    """The names by which an index finds a record."""
    if record.request_id is not None:
        yield "request", record.request_id
    if record.address is not None:
        yield "address", record.address
    if record.actor is not None:
        if record.actor_kind == "recipient":
            yield "recipient", name_key(record.actor)
        elif record.actor_kind in ("admin", "command"):
            yield "admin", name_key(record.actor)
    if record.share is not None:
        yield "share", name_key(record.share)
    for each in levels(record.resource or ""):
        yield "resource", each


def levels(resource: str) -> list[str]:
    """A resource, and all that contain it, the largest first."""
    parts = name_key(resource).split(".")[:_MOST_LEVELS]
    return [".".join(parts[:number]) for number in range(1, len(parts) + 1)]


class IndexKeys:
    """Hashes names, and seals rows."""

    def __init__(self, keys: ChainKeys) -> None:
        self._by_id = {bytes.fromhex(key_id): key for key_id, key in keys.derived(_PURPOSE).items()}

    def row(self, chain: int, first_seq: int, last_seq: int, names: Iterable[Name]) -> IndexRow:
        """The row of a range whose records have these names."""
        key_id, key = next(iter(self._by_id.items()))
        hashes = sorted({_hash(key, each) for each in names})
        content = key_id + b"".join(hashes)
        return IndexRow(
            chain, first_seq, last_seq, content, _seal(key, chain, first_seq, last_seq, content)
        )

    def is_authentic(self, row: IndexRow) -> bool:
        """Whether one of the keys has sealed a row."""
        key = self._by_id.get(row.names[:_ID])
        return key is not None and hmac.compare_digest(
            _seal(key, row.chain, row.first_seq, row.last_seq, row.names), row.seal
        )

    def hashes(self, names: Sequence[Name]) -> Mapping[bytes, Sequence[bytes]]:
        """The hashes of names, by the ids of the keys."""
        return {key_id: [_hash(key, each) for each in names] for key_id, key in self._by_id.items()}


class AbsenceCheck:
    """Finds out which ranges contain no record with all of some names."""

    def __init__(self, keys: ChainKeys, names: Sequence[Name]) -> None:
        self._keys = IndexKeys(keys)
        self._hashes = self._keys.hashes(names)

    def absent(self, rows: Iterable[IndexRow]) -> list[IndexRow]:
        """Those of some rows that are authentic, and whose ranges contain no such record."""
        return [each for each in rows if self._lacks(each) and self._keys.is_authentic(each)]

    def _lacks(self, row: IndexRow) -> bool:
        hashes = self._hashes.get(row.names[:_ID], ())
        return not all(_contains(row.names, each) for each in hashes)


def _contains(names: bytes, wanted: bytes) -> bool:
    at = names.find(wanted, _ID)
    while at % _HASH > 0 and at >= 0:
        at = names.find(wanted, at + 1)
    return at >= 0


def _hash(key: bytes, name: Name) -> bytes:
    kind, value = name
    content = f"{kind}:{value}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=_HASH, key=key).digest()


def _seal(key: bytes, chain: int, first_seq: int, last_seq: int, names: bytes) -> bytes:
    content = f"index of {chain}: {first_seq} {last_seq} ".encode()
    return hmac.digest(key, content + hashlib.sha256(names).digest(), hashlib.sha256)
