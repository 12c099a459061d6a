"""Key rings: the first key signs, and signatures of all keys are accepted, so that keys can rotate."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

_HASH = hashlib.sha256
_HASH_BYTES = _HASH().digest_size


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Secret keys, the newest first. `repr` shows none of them."""

    keys: tuple[bytes, ...] = field(repr=False)

    @property
    def signing(self) -> bytes:
        """The key that signs."""
        return self.keys[0]

    def derive(self, purpose: str) -> KeyRing:
        """Return the keys for one purpose. Their signatures are not valid for other purposes."""
        return KeyRing(tuple(derive(key, purpose) for key in self.keys))

    def accepts(self, tag: bytes, tag_by: Callable[[bytes], bytes]) -> bool:
        """Whether one of the keys created this tag."""
        return any(hmac.compare_digest(tag, tag_by(key)) for key in self.keys)


def derive(key: bytes, purpose: str) -> bytes:
    """Return a 32-byte key for one purpose, whose signatures are not valid for other purposes."""
    return hkdf_sha256(key, salt=b"sluicegate", info=purpose.encode(), length=32)


def hkdf_sha256(key: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF with SHA-256 (RFC 5869, sections 2.2 and 2.3)."""
    pseudorandom = hmac.digest(salt or bytes(_HASH_BYTES), key, _HASH)
    block, output = b"", b""
    for counter in range(1, -(-length // _HASH_BYTES) + 1):
        block = hmac.digest(pseudorandom, block + info + bytes([counter]), _HASH)
        output += block
    return output[:length]
