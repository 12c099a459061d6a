"""Bearer tokens and client secrets: 256 random bits, with prefixes that secret scanners recognize."""

from __future__ import annotations

import hashlib
import re
import secrets

from sluicegate.database.tables import CredentialKind

_PREFIXES: dict[CredentialKind, str] = {"bearer": "slg_", "oauth": "slgs_"}
_RANDOM_BYTES = 32
_TOKEN = re.compile(r"slg_[A-Za-z0-9_-]{43}")


def new_secret(kind: CredentialKind) -> str:
    """Create a bearer token, or a secret of an OAuth client."""
    return _PREFIXES[kind] + secrets.token_urlsafe(_RANDOM_BYTES)


def is_well_formed(token: str) -> bool:
    """Whether a string has the format of a bearer token."""
    return _TOKEN.fullmatch(token) is not None


def digest(secret: str) -> bytes:
    """The SHA-256, which is stored. Secrets are random, so no salt or slow hash is needed."""
    return hashlib.sha256(secret.encode()).digest()
