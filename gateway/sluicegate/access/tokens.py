"""Bearer tokens: 256 random bits behind a prefix that secret scanners recognise."""

from __future__ import annotations

import hashlib
import re
import secrets

_PREFIX = "slg_"
_RANDOM_BYTES = 32
_TOKEN = re.compile(r"slg_[A-Za-z0-9_-]{43}")


def new_token() -> str:
    """A fresh token."""
    return _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)


def is_well_formed(token: str) -> bool:
    """Whether a text could be a token at all."""
    return _TOKEN.fullmatch(token) is not None


def digest(token: str) -> bytes:
    """What is stored of a token: its SHA-256. Tokens are random, so no salt or slow hash is needed."""
    return hashlib.sha256(token.encode()).digest()
