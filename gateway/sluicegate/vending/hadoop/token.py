"""Encodes tokens as Hadoop's Writable and as URL strings."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from sluicegate.vending.hadoop.wire import Input, MalformedToken, blob, text

NO_PASSWORD = b"non-password"
"""Hadoop's placeholder for the password if the identifier is the secret."""


@dataclass(frozen=True, slots=True)
class HadoopToken:
    """A token: the identifier's bytes, their kind, and the service. `repr` shows no secret."""

    identifier: bytes = field(repr=False)
    kind: str
    service: str
    password: bytes = field(default=NO_PASSWORD, repr=False)


def encode_token(token: HadoopToken) -> bytes:
    """Encode a token as a Writable."""
    return blob(token.identifier) + blob(token.password) + text(token.kind) + text(token.service)


def read_token(data: Input) -> HadoopToken:
    """Read the next token of a Writable."""
    identifier, password = data.blob(), data.blob()
    kind, service = data.text(), data.text()
    return HadoopToken(identifier, kind, service, password)


def to_url(token: HadoopToken) -> str:
    """Encode a token as text for a URL or an environment variable (`Token.encodeToUrlString`)."""
    return base64.urlsafe_b64encode(encode_token(token)).decode().rstrip("=")


def from_url(spelled: str) -> HadoopToken:
    """Decode a token from its URL form."""
    try:
        raw = base64.b64decode(spelled + "=" * (-len(spelled) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedToken(
            "the token is not base64url text: send it exactly as it was issued"
        ) from None
    data = Input(raw, "the token")
    token = read_token(data)
    data.end()
    return token
