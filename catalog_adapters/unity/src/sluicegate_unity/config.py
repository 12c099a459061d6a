"""Configuration of the catalog type `unity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import CatalogConfig, OAuth2Client, PluginConfig, SecretStr
from sluicegate_unity.names import NAME

API = "/api/2.1/unity-catalog"
_EXCHANGE = "/api/1.0/unity-control/auth/tokens"


def _plain_url(text: str) -> str:
    """An address without a slash at its end.

    Raises:
        ValueError: It is no `http` or `https` URL, or has a user, query or fragment.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as https://unity.example.com")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("must hold only scheme, host, port and path")
    return text.rstrip("/")


def _server_url(text: str) -> str:
    return _plain_url(_plain_url(text).removesuffix(API))


def _header_safe(token: SecretStr) -> SecretStr:
    value = token.get_secret_value()
    if not value.isascii() or not value.isprintable() or not value or " " in value:
        raise ValueError("must be one word of printable ASCII characters")
    return token


Url = Annotated[str, AfterValidator(_plain_url)]
Token = Annotated[SecretStr, AfterValidator(_header_safe)]


class TokenExchange(PluginConfig):
    """An identity token, exchanged at the catalog for access tokens before each expires."""

    subject_token: Token | None = Field(
        default=None, description="The identity token: a JWT of an issuer that the catalog trusts."
    )
    subject_token_file: Path | None = Field(
        default=None,
        description="A file with the identity token, read again at each exchange: for tokens that "
        "something else renews.",
    )
    subject_token_type: str = Field(
        default="urn:ietf:params:oauth:token-type:id_token",
        description="What the identity token is.",
    )
    token_uri: Url | None = Field(
        default=None, description="Where tokens are exchanged; the catalog's own address if unset."
    )

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.subject_token is None) == (self.subject_token_file is None):
            raise ValueError("set either subject_token or subject_token_file")
        return self


class OAuth2(OAuth2Client):
    """An OAuth 2.0 client, whose access tokens are renewed before each expires."""

    token_uri: Url = Field(description="The token endpoint of the identity provider.")


class UnityConfig(CatalogConfig):
    """A Unity Catalog: its schemas and Delta tables, and the credentials that it vends.

    The gateway is known to it by a static token, by exchanging an identity token, or as an OAuth
    client; by nothing where the catalog asks for no authorization.
    """

    uri: Annotated[str, AfterValidator(_server_url)] = Field(
        description="Address of the server, with or without `/api/2.1/unity-catalog`.",
        examples=["https://unity.example.com"],
    )
    catalog: str | None = Field(
        default=None,
        pattern=f"^{NAME}$",
        description="The catalog whose schemas are offered. If unset, those of all catalogs are, "
        "named `catalog.schema`.",
    )
    token: Token | None = Field(default=None, description="A token that does not expire.")
    token_exchange: TokenExchange | None = Field(
        default=None, description="An identity token to exchange."
    )
    oauth2: OAuth2 | None = Field(default=None, description="An OAuth client.")
    credentials: Literal["catalog", "storage"] = Field(
        default="catalog",
        description="Whose credentials read tables: those that the catalog gives, where it does, or "
        "always those of the storage configuration.",
    )

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        given = [name for name in ("token", "token_exchange", "oauth2") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other: keep one")
        return self

    @property
    def api(self) -> str:
        """Where the catalog's routes begin."""
        return f"{self.uri}{API}"

    @property
    def exchange_uri(self) -> str:
        """Where identity tokens are exchanged."""
        given = self.token_exchange.token_uri if self.token_exchange else None
        return given or f"{self.uri}{_EXCHANGE}"
