"""Parses requests for access tokens, with the errors of RFC 6749 (sections 2.3.1, 4.4.2 and 5.2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_plus

FORM = "application/x-www-form-urlencoded"
SCOPE = "delta-sharing"
"""The default scope. It doesn't limit access: grants define what a recipient can read."""

SCOPES = (SCOPE, "catalog")
"""All scopes, which are equivalent. Clients of Iceberg catalogs request the second by default."""

MAX_BODY = 16_384
"""Bytes of a request. Assertions of clients, the longest parameters, take a few kilobytes."""

_GRANT_TYPE = "client_credentials"
# Clients of Iceberg catalogs renew tokens by it, with the old token instead of a client's credentials.
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_RULES: Mapping[int, str] = {400: "request", 401: "authentication", 429: "limit"}
_MAX_FIELDS = 32


class OAuthError(Exception):
    """An error response of RFC 6749, section 5.2."""

    def __init__(
        self,
        code: str,
        description: str,
        status: int = 400,
        retry_after: int | None = None,
        rule: str | None = None,
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.status = status
        self.retry_after = retry_after
        self.rule = rule or _RULES.get(status)


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A valid request of a client that is not authenticated yet."""

    client_id: str
    client_secret: str = field(repr=False)
    scope: str = SCOPE

    @classmethod
    def parse(
        cls,
        content_type: str,
        authorization: str | None,
        body: bytes,
        *,
        scopes: Sequence[str] = SCOPES,
    ) -> TokenRequest:
        """Parse a request.

        The client's credentials are in the header or in the body, but not in both.
        """
        form = _form(content_type, body)
        grant_type = form.get("grant_type")
        if grant_type == _EXCHANGE:
            raise OAuthError(
                "unsupported_grant_type",
                "token exchange is not supported: set token-exchange-enabled to false, so that the "
                f"client requests new tokens with its credentials (grant_type {_GRANT_TYPE})",
            )
        client_id, client_secret = _credentials(authorization, form)
        if grant_type is None:
            raise OAuthError("invalid_request", "grant_type is missing")
        if grant_type != _GRANT_TYPE:
            raise OAuthError("unsupported_grant_type", f"grant_type must be {_GRANT_TYPE}")
        scope = form.get("scope", scopes[0])
        if not scope.split() or not set(scope.split()) <= set(scopes):
            raise OAuthError(
                "invalid_scope", f"the scopes are {' and '.join(scopes)}; they are optional"
            )
        return cls(client_id, client_secret, " ".join(scope.split()))


def _form(content_type: str, body: bytes) -> Mapping[str, str]:
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise OAuthError("invalid_request", f"the body must be of type {FORM}")
    try:
        fields = parse_qsl(body.decode(), errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise OAuthError("invalid_request", "the body is not a form") from None
    if len(dict(fields)) < len(fields):
        raise OAuthError("invalid_request", "a parameter occurs twice")
    return dict(fields)


def _credentials(authorization: str | None, form: Mapping[str, str]) -> tuple[str, str]:
    in_form = form.get("client_id"), form.get("client_secret")
    if authorization is None:
        client_id, secret = in_form
        if not client_id or not secret:
            raise _invalid_client("client_id and client_secret are missing")
        return client_id, secret
    client_id, secret = _basic(authorization)
    if in_form[1] is not None or in_form[0] not in (None, client_id):
        raise OAuthError(
            "invalid_request", "send credentials in the header or in the body, not in both"
        )
    return client_id, secret


def _basic(authorization: str) -> tuple[str, str]:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise _invalid_client("the Authorization header must be of the scheme Basic")
    try:
        client_id, separator, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise _invalid_client("the Authorization header is malformed") from None
    if not separator:
        raise _invalid_client("the Authorization header is malformed")
    return unquote_plus(client_id), unquote_plus(secret)


def _invalid_client(description: str) -> OAuthError:
    return OAuthError("invalid_client", description, 401)
