"""Configuration of the catalog type `iceberg`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import CatalogConfig, OAuth2Client, RotatableSecret, SecretStr

_URL = re.compile(r"https?://[^/?#@\s][^?#@\s]*")


def _plain_url(text: str) -> str:
    """Return a URL without its trailing slash."""
    if not _URL.fullmatch(text):
        raise ValueError(
            "must be a URL such as https://polaris.example/api/catalog, "
            "without user, query and fragment"
        )
    return text.rstrip("/")


Url = Annotated[str, AfterValidator(_plain_url)]


class OAuth2Config(OAuth2Client):
    """OAuth 2.0 client credentials. Access tokens are renewed before they expire."""

    token_uri: Url | None = Field(
        default=None,
        description="URL of the token endpoint. Default: the catalog's own, `v1/oauth/tokens`.",
    )
    scope: str | None = Field(
        default="catalog", description="Scope to request. Polaris requires `PRINCIPAL_ROLE:ALL`."
    )
    client_authentication: Literal["header", "body"] = Field(
        default="body",
        description="How the client sends its id and secret: with HTTP Basic, or in the form.",
    )


class IcebergConfig(CatalogConfig):
    """An Iceberg REST catalog, and how the gateway authenticates to it.

    Credentials that the catalog vends are used to sign URLs and are issued to recipients with
    directory access. Therefore, configure a principal with read-only access.
    """

    uri: Url = Field(
        description="URL of the catalog, without `/v1`.",
        examples=["https://polaris.example/api/catalog"],
    )
    warehouse: str | None = Field(
        default=None, min_length=1, description="The warehouse (in Polaris: the catalog) to serve."
    )
    oauth2: OAuth2Config | None = Field(
        default=None, description="OAuth 2.0 client credentials of the gateway."
    )
    token: RotatableSecret | None = Field(
        default=None, description="A bearer token, instead of `oauth2`. It is never renewed."
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        description="Headers to send with each request to the catalog, and to a token endpoint on "
        "the same host. `Polaris-Realm` selects a realm of Polaris.",
    )
    credentials: Literal["catalog", "storage"] = Field(
        default="catalog",
        description="Which credentials are used to read Iceberg tables and to sign URLs, and are "
        "vended: those that the catalog vends, or those of the configured storage.",
    )

    @model_validator(mode="after")
    def _refuse_two_ways_to_authenticate(self) -> Self:
        if self.oauth2 is not None and self.token is not None:
            raise ValueError("oauth2 and token are mutually exclusive: remove one")
        return self
