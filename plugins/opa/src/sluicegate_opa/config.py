"""Configuration of the policy type `opa`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from sluicegate.api import (
    Duration,
    PluginConfig,
    RotatableSecret,
    SecretStr,
    canonical_endpoint_url,
)


def _server_url(text: str) -> str:
    return canonical_endpoint_url(text, "http://127.0.0.1:8181", with_path=True)


def _header_safe(token: SecretStr) -> SecretStr:
    value = token.get_secret_value()
    if not value.isascii() or not value.isprintable() or not value or " " in value:
        raise ValueError("must be one word of printable ASCII characters")
    return token


class OpaConfig(PluginConfig):
    """A server with the REST API of Open Policy Agent, and the rule that decides."""

    removed_keys: ClassVar[Mapping[str, str]] = {
        "cache_size": "20,000 decisions",
        "batch_size": "500 tables",
        "max_concurrency": "16 requests",
    }

    url: Annotated[str, AfterValidator(_server_url)] = Field(
        description="URL of the server, without `/v1/data`.", examples=["http://127.0.0.1:8181"]
    )
    path: str = Field(
        default="sluicegate/allow",
        pattern=r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$",
        description="The rule that decides: package and rule, separated by `/`. "
        "`sluicegate/allow` is `data.sluicegate.allow`.",
    )
    token: Annotated[RotatableSecret, AfterValidator(_header_safe)] | None = Field(
        default=None,
        description="Bearer token. `{file: …}` and `{env: …}` are read again if the server rejects the "
        "token, and a file also when it changes.",
    )
    timeout: Duration = Field(
        default=3,
        ge=1,
        le=9,
        description="How long a request waits for the server. After that, recipients get 503.",
    )
    max_age: Duration = Field(
        default=5,
        ge=0,
        le=3600,
        description="How long decisions are cached. With `0s`, every request is sent to the server.",
    )
