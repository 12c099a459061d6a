"""Keys of the store: for one recipient and one table, and without a record of them anywhere.

The session token contains what the key is for. The secret is derived from the token, so any process
with the signing keys of the gateway can verify a signature.
"""

from __future__ import annotations

import hmac
import time
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.common.recipient_links import RecipientLink
from sluicegate.protocols.iceberg_rest.store.errors import StoreRefusal
from sluicegate.signing.keyring import KeyRing

LONGEST_TOKEN: Final = 8_192
"""Characters. Names of a share, a schema and a table have at most a few thousand."""

_TAGS = "iceberg store tokens"
_SECRETS = "iceberg store secrets"
_HASH = "sha256"
_TAG_TEXT = 43  # characters of a SHA-256 in base64
_ID_PREFIX = "SLG"
_ID_LENGTH = 17


@dataclass(frozen=True, slots=True)
class StoreKey(RecipientLink):
    """What a key is for.

    Attributes:
        issued_at: Epoch milliseconds.
        expires_at: Epoch milliseconds.
    """

    table_id: str
    issued_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key as a client uses it."""

    access_key_id: str
    secret: str = field(repr=False)
    token: str = field(repr=False)
    expires_at: int


@dataclass(frozen=True, slots=True)
class OpenedKey:
    """A key that a client named. Nothing proves yet that it knows the secret."""

    key: StoreKey
    secret: str = field(repr=False)


class StoreKeys:
    """Issues keys, and opens their tokens."""

    def __init__(self, keys: KeyRing, lifetime: int, clock: Callable[[], float] = time.time) -> None:
        tags, secrets = keys.derive(_TAGS), keys.derive(_SECRETS)
        self._keys = tuple(zip(tags.keys, secrets.keys, strict=True))
        self._lifetime = lifetime
        self._clock = clock

    def issue(self, principal: Principal, shared: SharedTable) -> IssuedKey:
        """A new key."""
        now = int(self._clock() * 1000)
        names = (principal.id, principal.name, shared.share, shared.schema, shared.name, shared.id)
        key = StoreKey(*names, now, now + self._lifetime * 1000)
        tags, secrets = self._keys[0]
        content = key.path
        token = f"{_text(tags, content)}{content}"
        return IssuedKey(_id(secrets, token), _text(secrets, token), token, key.expires_at)

    def open(self, access_key_id: str, token: str | None) -> OpenedKey:
        """The key of a token, whether or not it has expired."""
        if token is None or len(token) > LONGEST_TOKEN or not token.isascii():
            raise _unknown()
        tag, content = token[:_TAG_TEXT], token[_TAG_TEXT:]
        for tags, secrets in self._keys:
            if hmac.compare_digest(tag, _text(tags, content)):
                if not hmac.compare_digest(access_key_id, _id(secrets, token)):
                    break
                return OpenedKey(StoreKey.parse(content), _text(secrets, token))
        raise _unknown()

    def check_current(self, key: StoreKey) -> None:
        """Check that a key has not expired."""
        if self._clock() * 1000 >= key.expires_at:
            message = "this key has expired: load the table again, or request its credentials"
            raise StoreRefusal("ExpiredToken", message, 400)


def _text(key: bytes, content: str) -> str:
    digest = hmac.digest(key, content.encode(), _HASH)
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _id(key: bytes, token: str) -> str:
    digest = hmac.digest(key, f"id\n{token}".encode(), _HASH)
    return _ID_PREFIX + b32encode(digest).decode()[:_ID_LENGTH]


def _unknown() -> StoreRefusal:
    return StoreRefusal(
        "InvalidAccessKeyId",
        "this is not a key that the gateway issued for the table: use the key, the secret and the "
        "session token as the catalog returned them, or load the table again",
    )
