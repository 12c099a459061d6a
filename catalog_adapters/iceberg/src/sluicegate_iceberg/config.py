"""Configuration of the catalog type `iceberg`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import CatalogConfig, OAuth2Client, SecretStr

_URL = re.compile(r"https?://[^/?#@\s][^?#@\s]*")


def _plain_url(text: str) -> str:
    """An address without a slash at its end.

    Raises:
        ValueError: It is no `http` or `https` URL, or has a user, query or fragment.
    """
    if not _URL.fullmatch(text):
        raise ValueError(
            "must be a URL such as https://polaris.example/api/catalog, "
            "without user, query and fragment"
        )
    return text.rstrip("/")


Url = Annotated[str, AfterValidator(_plain_url)]


class OAuth2Config(OAuth2Client):
    """OAuth 2.0 client credentials, exchanged for access tokens that are renewed before they expire."""

    token_uri: Url | None = Field(
        default=None,
        description="URL of the token endpoint; by default the catalog's own, `v1/oauth/tokens`.",
    )
    scope: str | None = Field(
        default="catalog", description="Scope to ask for; Polaris wants `PRINCIPAL_ROLE:ALL`."
    )
    client_authentication: Literal["header", "body"] = Field(
        default="body",
        description="How the client shows id and secret: by HTTP Basic, or in the form.",
    )


class IcebergConfig(CatalogConfig):
    """An Iceberg REST catalog, and how the gateway shows it who it is.

    What the catalog vends is what signs URLs, and what recipients with directory access get: give the
    gateway a principal that may read only.
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
    token: SecretStr | None = Field(
        default=None, description="A bearer token, instead of `oauth2`; it is never renewed."
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        description="Headers to send with each request, such as `Polaris-Realm`.",
    )
    credentials: Literal["catalog", "storage"] = Field(
        default="catalog",
        description="Whose credentials read Iceberg tables, sign their URLs and are vended: those that "
        "the catalog vends, or those of the configured storage.",
    )

    @model_validator(mode="after")
    def _refuse_two_ways_to_authenticate(self) -> Self:
        if self.oauth2 is not None and self.token is not None:
            raise ValueError("oauth2 and token exclude each other: set one of them")
        return self
