"""The signing key of a gateway, and the keys derived from it, one for each purpose."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from sluicegate.config import Settings
from sluicegate.config.secrets import world_readable
from sluicegate.config.settings import MINIMUM_KEY_LENGTH
from sluicegate.errors import ConfigurationError
from sluicegate.store.urls import DatabaseUrl

_HASH = hashlib.sha256
_HASH_BYTES = _HASH().digest_size


def load_signing_key(settings: Settings) -> bytes:
    """The configured signing key, or the one in a file beside the SQLite database, made on first use.

    Raises:
        ConfigurationError: The database is PostgreSQL and no key is configured, or the key file is
            unusable.
    """
    if settings.signing_key is not None:
        return settings.signing_key.get_secret_value().encode()
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    if database.dialect != "sqlite":
        raise ConfigurationError(
            "with PostgreSQL, 'signing_key' must be set, the same on every replica: make one with "
            "'openssl rand -hex 32' and configure it as {env: NAME} or {file: PATH}"
        )
    return _key_file(Path(database.target).with_suffix(".key"))


def derive(key: bytes, purpose: str) -> bytes:
    """A 32-byte key for one purpose, so that what one purpose signs is worth nothing for another."""
    return hkdf_sha256(key, salt=b"sluicegate", info=purpose.encode(), length=32)


def hkdf_sha256(key: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF with SHA-256 (RFC 5869, sections 2.2 and 2.3)."""
    pseudorandom = hmac.digest(salt or bytes(_HASH_BYTES), key, _HASH)
    block, output = b"", b""
    for counter in range(1, -(-length // _HASH_BYTES) + 1):
        block = hmac.digest(pseudorandom, block + info + bytes([counter]), _HASH)
        output += block
    return output[:length]


def _key_file(path: Path) -> bytes:
    try:
        if not path.exists():
            _create_key_file(path)
        if world_readable(path):
            raise ConfigurationError(f"the signing key can be read by everybody: chmod 600 {path}")
        key = path.read_bytes().strip()
    except OSError as error:
        raise ConfigurationError(
            f"the signing key '{path}' cannot be used: {error.strerror}"
        ) from error
    if len(key) < MINIMUM_KEY_LENGTH:
        raise ConfigurationError(
            f"the signing key in '{path}' is too short: delete the file to get a new one"
        )
    return key


def _create_key_file(path: Path) -> None:
    """Make the file whole or not at all; of two processes that start together, the first one wins."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
