"""OAuth grants: an identity token is exchanged, or a client's credentials give tokens.

Sources: RFC 8693 as Unity Catalog answers it; RFC 6749, sections 2.3.1 and 4.4.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote_plus

import anyio

from sluicegate.api import Unavailable
from sluicegate_unity.answers import json_object
from sluicegate_unity.config import OAuth2Client, TokenExchange, UnityConfig
from sluicegate_unity.tokens import AccessToken, FixedToken, RenewedToken, TokenSource
from sluicegate_unity.transport import Request, Transport, Unreachable

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a type's name)


def token_source(config: UnityConfig, transport: Transport, catalog: str) -> TokenSource:
    """The configured way to tokens.

    Args:
        config: The catalog's section.
        transport: Reaches token endpoints.
        catalog: The catalog's name, for messages.
    """
    if config.token_exchange is not None:
        return _renewed(_exchange(config.token_exchange, config.exchange_uri), transport, catalog)
    if config.oauth2 is not None:
        return _renewed(_client_credentials(config.oauth2), transport, catalog)
    return FixedToken(config.token)


def _renewed(ask: Callable[[], Awaitable[Request]], transport: Transport, catalog: str) -> RenewedToken:
    async def fetch() -> AccessToken:
        try:
            request = await ask()
            answer = await transport.send(request)
        except (Unreachable, OSError, ValueError) as error:
            raise Unavailable(
                f"the gateway cannot sign in to the catalog '{catalog}' now; try again later",
                detail=str(error),
            ) from error
        document = json_object(answer.content)
        token = _access_token(document) if answer.status == 200 and document else None
        if token is None:
            raise Unavailable(
                f"the gateway may not sign in to the catalog '{catalog}'; ask its operator",
                detail=f"{request.url}: {answer.status} {_reason(document)}",
            )
        return token

    return RenewedToken(fetch)


def _exchange(config: TokenExchange, uri: str) -> Callable[[], Awaitable[Request]]:
    async def ask() -> Request:
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ACCESS_TOKEN,
            "subject_token_type": config.subject_token_type,
            "subject_token": await _subject(config),
        }
        return Request("POST", uri, form=form)

    return ask


async def _subject(config: TokenExchange) -> str:
    if config.subject_token is not None:
        return config.subject_token.get_secret_value()
    if config.subject_token_file is None:
        raise ValueError("there is no identity token")
    token = (await anyio.Path(config.subject_token_file).read_text(encoding="utf-8")).strip()
    if not token:
        raise ValueError(f"{config.subject_token_file} is empty")
    return token


def _client_credentials(config: OAuth2Client) -> Callable[[], Awaitable[Request]]:
    form = {"grant_type": "client_credentials"} | ({"scope": config.scope} if config.scope else {})

    async def ask() -> Request:
        secret = config.client_secret.get_secret_value()
        if config.client_authentication == "body":
            known = {"client_id": config.client_id, "client_secret": secret}
            return Request("POST", config.token_uri, form=form | known)
        pair = f"{quote_plus(config.client_id)}:{quote_plus(secret)}"
        basic = base64.b64encode(pair.encode()).decode()
        return Request("POST", config.token_uri, {"Authorization": f"Basic {basic}"}, form=form)

    return ask


def _access_token(document: Mapping[str, Any]) -> AccessToken | None:
    value, lifetime = document.get("access_token"), document.get("expires_in")
    if not isinstance(value, str) or not value.isascii() or not value.isprintable() or " " in value:
        return None
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or lifetime <= 0:
        lifetime = None
    return AccessToken(value, lifetime) if value else None


def _reason(document: Mapping[str, Any] | None) -> str:
    """The error's code alone: descriptions of refused tokens may repeat them."""
    found = document or {}
    code = found.get("error_code") or found.get("error")
    return code[:100] if isinstance(code, str) else "no token in the answer"
