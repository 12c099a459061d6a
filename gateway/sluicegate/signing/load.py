"""Loads the signing keys from the configuration, or from a file next to the database."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.config.model import MINIMUM_KEY_LENGTH
from sluicegate.config.secrets import world_readable
from sluicegate.database.urls import DatabaseUrl
from sluicegate.signing.keyring import KeyRing


def load_keys(settings: Settings) -> KeyRing:
    """Load the signing key and the previous keys, whose signatures are still accepted."""
    previous = (key.get_secret_value().encode() for key in settings.previous_signing_keys)
    return KeyRing((load_signing_key(settings), *previous))


def load_signing_key(settings: Settings) -> bytes:
    """Load the configured key, or the one in a file next to SQLite's, which is created on first use."""
    if settings.signing_key is not None:
        return settings.signing_key.get_secret_value().encode()
    return _key_file(signing_key_path(settings))


def signing_key_path(settings: Settings) -> Path:
    """Return the path of the key file that is used if no key is configured."""
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    if database.dialect != "sqlite":
        raise ConfigurationError(
            "with PostgreSQL, 'signing_key' must be set, the same on every replica: create one with "
            "'openssl rand -hex 32' and configure it as {env: NAME} or {file: PATH}"
        )
    return Path(database.target).with_suffix(".key")


def _key_file(path: Path) -> bytes:
    try:
        if not path.exists():
            _create_key_file(path)
        if world_readable(path):
            raise ConfigurationError(f"the signing key is readable by all users: chmod 600 {path}")
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
    """Create the file atomically. If two processes start together, the first one wins."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
