"""Base models and types for the gateway's sections and those of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from sluicegate._util.units import Duration

PLUGIN_GROUP = "sluicegate"
"""The group of the entry points of plugins."""

MINIMUM_KEY_LENGTH = 32
# Seconds. No credential that alone grants access to tables is valid for longer.
LONGEST_TOKEN = 365 * 86_400


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("expected an http:// or https:// address")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("expected an address without user, query and fragment")
    return value.rstrip("/")


def _signing_key(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < MINIMUM_KEY_LENGTH:
        raise ValueError(
            f"expected at least {MINIMUM_KEY_LENGTH} characters; to generate a key: openssl rand -hex "
            f"32"
        )
    return value


def _token_lifetime(seconds: int) -> int:
    if seconds > LONGEST_TOKEN:
        raise ValueError("expected at most one year (365d); rotate tokens before they expire")
    return seconds


SigningKey = Annotated[SecretStr, AfterValidator(_signing_key)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
TokenLifetime = Annotated[Duration, Field(ge=1), AfterValidator(_token_lifetime)]


class SettingsModel(BaseModel):
    """Base of the gateway's own sections. They are frozen, and unknown keys are errors.

    Attributes:
        removed_keys: Keys that are accepted without effect, and a description of the constant that the
            gateway uses instead.
    """

    removed_keys: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )


class PluginSection(BaseModel):
    """A section for the plugin named by `type`. It is not validated until the plugin is loaded."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    type: str = Field(description="Name of the plugin.")

    @property
    def options(self) -> dict[str, Any]:
        """The keys that the plugin's model validates: all except `type`."""
        return dict(self.model_extra or {})

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Shows only the type, because the options can contain secrets."""
        yield "type", self.type
