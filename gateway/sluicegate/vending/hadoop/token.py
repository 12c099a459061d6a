"""A token as Hadoop moves it about, and its URL form."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from sluicegate.vending.hadoop.wire import Input, MalformedToken, blob, text

NO_PASSWORD = b"non-password"
"""What Hadoop writes where the identifier is the secret."""


@dataclass(frozen=True, slots=True)
class Token:
    """An identifier's bytes with their kind, and the service they are for; `repr` shows no secret.

    Attributes:
        identifier: For S3A's kinds what `encode_identifier` makes: it holds the credentials.
        service: `s3a://bucket`; Hadoop looks tokens up by it.
    """

    identifier: bytes = field(repr=False)
    kind: str
    service: str
    password: bytes = field(default=NO_PASSWORD, repr=False)


def encode_token(token: Token) -> bytes:
    """The token as a Writable."""
    return blob(token.identifier) + blob(token.password) + text(token.kind) + text(token.service)


def read_token(data: Input) -> Token:
    """The next token of a Writable.

    Raises:
        MalformedToken: There is none.
    """
    identifier, password = data.blob(), data.blob()
    kind, service = data.text(), data.text()
    return Token(identifier, kind, service, password)


def to_url(token: Token) -> str:
    """The token as text that fits a URL or an environment variable (`Token.encodeToUrlString`)."""
    return base64.urlsafe_b64encode(encode_token(token)).decode().rstrip("=")


def from_url(spelled: str) -> Token:
    """The token of its URL form.

    Raises:
        MalformedToken: It is none.
    """
    try:
        raw = base64.b64decode(spelled + "=" * (-len(spelled) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedToken("the token is no base64url text: give it as it was issued") from None
    data = Input(raw, "the token")
    token = read_token(data)
    data.end()
    return token
