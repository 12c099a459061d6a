"""Configuration of the catalog type `unity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import CatalogConfig, OAuth2Client, PluginConfig, RotatableSecret, SecretStr
from sluicegate_unity.names import NAME

API = "/api/2.1/unity-catalog"
_EXCHANGE = "/api/1.0/unity-control/auth/tokens"


def _plain_url(text: str) -> str:
    """Return a URL without its trailing slash."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as https://unity.example.com")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("must contain only scheme, host, port and path")
    return text.rstrip("/")


def _server_url(text: str) -> str:
    return _plain_url(_plain_url(text).removesuffix(API))


def _header_safe(token: SecretStr) -> SecretStr:
    value = token.get_secret_value()
    if not value.isascii() or not value.isprintable() or not value or " " in value:
        raise ValueError("must be one word of printable ASCII characters")
    return token


Url = Annotated[str, AfterValidator(_plain_url)]
Token = Annotated[RotatableSecret, AfterValidator(_header_safe)]


class TokenExchange(PluginConfig):
    """An identity token that is exchanged at the catalog for access tokens before each expires."""

    subject_token: Token | None = Field(
        default=None, description="The identity token: a JWT of an issuer that the catalog trusts."
    )
    subject_token_file: Path | None = Field(
        default=None,
        description="A file with the identity token. It is read at each exchange, so that other "
        "tools can renew it.",
    )
    subject_token_type: str = Field(
        default="urn:ietf:params:oauth:token-type:id_token",
        description="The type of the identity token.",
    )
    token_uri: Url | None = Field(
        default=None, description="URL of the token exchange. Default: the catalog's own."
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

    The gateway authenticates with a static token, by exchanging an identity token, or as an OAuth
    client; or not at all, if the catalog requires no authorization.
    """

    uri: Annotated[str, AfterValidator(_server_url)] = Field(
        description="URL of the server, with or without `/api/2.1/unity-catalog`.",
        examples=["https://unity.example.com"],
    )
    catalog: str | None = Field(
        default=None,
        pattern=f"^{NAME}$",
        description="The catalog whose schemas are available. Default: those of all catalogs, named "
        "`catalog.schema`.",
    )
    token: Token | None = Field(
        default=None,
        description="A token that does not expire. `{file: …}` and `{env: …}` are read again if the "
        "catalog rejects the token, and a file also when it changes.",
    )
    token_exchange: TokenExchange | None = Field(
        default=None, description="An identity token to exchange."
    )
    oauth2: OAuth2 | None = Field(default=None, description="An OAuth client.")
    tag_properties: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        description="Names of table properties that are tags for policies, in entirely shared schemas "
        "and catalogs.",
    )
    credentials: Literal["catalog", "storage"] = Field(
        default="catalog",
        description="Which credentials are used to read tables: those that the catalog vends, if "
        "any, or always those of the storage configuration.",
    )

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        given = [name for name in ("token", "token_exchange", "oauth2") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are mutually exclusive: keep one")
        return self

    @property
    def api(self) -> str:
        """Return the base URL of the catalog's routes."""
        return f"{self.uri}{API}"

    @property
    def exchange_uri(self) -> str:
        """Return the URL of the token exchange."""
        given = self.token_exchange.token_uri if self.token_exchange else None
        return given or f"{self.uri}{_EXCHANGE}"
