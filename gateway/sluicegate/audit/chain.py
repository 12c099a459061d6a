"""The hash chain: each line contains a MAC over its content and the MAC of the line before it.

A line is a JSON object that starts with `seq` and `key`, and ends with `mac`. Its MAC covers the bytes
before `,"mac":`, so that it can be verified without decoding the line.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sluicegate.api import hmac_states
from sluicegate.signing.keyring import KeyRing, derive

GENESIS = bytes(32)
"""What stands for the MAC before the first line."""

AFTER = "after"
"""The key of a line in an export before a chain that does not start at its first record: a position."""

CHAIN = "chain"
"""The key with the number of a chain, in such a line and in records."""

_PURPOSE = "audit log"
_ID = "audit log key id"
_HASH = "sha256"
_START = re.compile(
    rb'\{"seq":([1-9][0-9]{0,18}),"key":"([0-9a-f]{16})",(?:"chain":([1-9][0-9]{0,8}),)?'
)
_MAC_AT = -len(b',"mac":""}') - 64


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """A place in a chain: the number of a line, and its MAC."""

    seq: int
    mac: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.mac.hex()}"

    @classmethod
    def parse(cls, text: str) -> ChainPosition:
        """The position that `str` returned."""
        seq, _, mac = text.strip().partition(":")
        if not (seq.isascii() and seq.isdecimal() and len(seq) < 20 and len(mac) == 64):
            raise ValueError("expected SEQ:MAC, as `sluicegate audit verify` prints it")
        return cls(int(seq), bytes.fromhex(mac))


START = ChainPosition(0, GENESIS)
"""The position of an empty chain."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain starts and ends, authenticated, so that a removed end is found."""

    last: ChainPosition = START
    checkpoint: ChainPosition = START


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line."""

    seq: int
    key: str
    mac: bytes
    content: bytes
    chain: int = 0

    @property
    def position(self) -> ChainPosition:
        """Its place in the chain."""
        return ChainPosition(self.seq, self.mac)


class ChainKeys:
    """The keys of a chain: one seals lines, and all verify them."""

    def __init__(self, keys: KeyRing, former: Iterable[bytes] = ()) -> None:
        secrets = (*keys.keys, *former)
        self._signing_id = _key_id(keys.signing)
        self._by_id: Mapping[str, bytes] = {
            _key_id(secret): derive(secret, _PURPOSE) for secret in secrets
        }

    @cached_property
    def sealing(self) -> Sealer:
        """What seals lines of chains without a number, with the first key."""
        return self.sealing_in(0)

    def sealing_in(self, chain: int) -> Sealer:
        """What seals lines of the chain with this number, with the first key."""
        return Sealer(self._signing_id, self._by_id[self._signing_id], chain)

    def knows(self, key_id: str) -> bool:
        """Whether a key has this id."""
        return key_id in self._by_id

    def derived(self, purpose: str) -> Mapping[str, bytes]:
        """Keys for another purpose, by the ids of the keys, that of the first key first."""
        return {key_id: derive(key, purpose) for key_id, key in self._by_id.items()}

    def verifies(self, line: Line, after: bytes) -> bool:
        """Whether a line follows the line with the MAC `after`."""
        tag = hmac.digest(self._by_id[line.key], after + line.content, _HASH)
        return hmac.compare_digest(tag, line.mac)

    def accepts_head(self, chain: str, head: Head, seal: bytes) -> bool:
        """Whether one of the keys has sealed this head."""
        content = _head_content(chain, head)
        tags = (hmac.digest(key, content, _HASH) for key in self._by_id.values())
        return any(hmac.compare_digest(tag, seal) for tag in tags)


class Sealer:
    """Seals lines of one chain with one key.

    Args:
        chain: Number of the chain, which each line contains, so that none fits into another chain; 0
            for a chain without a number.
    """

    def __init__(self, key_id: str, key: bytes, chain: int) -> None:
        self._key = key
        # `hmac.digest` takes twice as long. It verifies the lines, so the two computations check each
        # other.
        self._inner, self._outer = hmac_states(key)
        self._start = b',"key":"%b",%b' % (key_id.encode(), b'"chain":%d,' % chain if chain else b"")

    def seal(self, bodies: Iterable[bytes], after: ChainPosition) -> tuple[list[bytes], ChainPosition]:
        """Make lines of JSON objects.

        Returns:
            The lines without line breaks, and the new end of the chain.
        """
        start, inner, outer = self._start, self._inner, self._outer
        seq, mac = after.seq, after.mac
        lines = []
        for body in bodies:
            seq += 1
            content = b'{"seq":%d%b%b' % (seq, start, body[1:-1])
            inside, outside = inner.copy(), outer.copy()
            inside.update(mac + content)
            outside.update(inside.digest())
            mac = outside.digest()
            lines.append(b'%b,"mac":"%b"}' % (content, mac.hex().encode()))
        return lines, ChainPosition(seq, mac)

    def head_seal(self, chain: str, head: Head) -> bytes:
        """What authenticates a head, of the chain with this name only."""
        return hmac.digest(self._key, _head_content(chain, head), _HASH)


def parse_line(raw: bytes) -> Line:
    """Parse a line, without its line break."""
    start = _START.match(raw)
    if start is None or raw[_MAC_AT:-66] != b',"mac":"' or raw[-2:] != b'"}':
        raise ValueError("not a line of an audit log")
    shown = raw[-66:-2].decode()
    mac = bytes.fromhex(shown)
    if mac.hex() != shown:  # other spellings of the same bytes
        raise ValueError("not a line of an audit log")
    return Line(int(start[1]), start[2].decode(), mac, raw[:_MAC_AT], int(start[3] or 0))


def _key_id(secret: bytes) -> str:
    return derive(secret, _ID)[:8].hex()


def _head_content(chain: str, head: Head) -> bytes:
    # No content of a line starts like this, so neither can stand for the other.
    return f"head of {chain}: {head.last} {head.checkpoint}".encode()
