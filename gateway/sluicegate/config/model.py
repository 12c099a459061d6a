"""What the gateway's own sections and those of plugins have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from sluicegate.units import Duration

MINIMUM_KEY_LENGTH = 32
# Seconds: nothing that opens tables by itself is valid for longer.
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
            f"expected at least {MINIMUM_KEY_LENGTH} characters; make one with: openssl rand -hex 32"
        )
    return value


def _token_lifetime(seconds: int) -> int:
    if seconds > LONGEST_TOKEN:
        raise ValueError("a token is valid for a year (365d) at most; rotate it before it expires")
    return seconds


SigningKey = Annotated[SecretStr, AfterValidator(_signing_key)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
TokenLifetime = Annotated[Duration, Field(ge=1), AfterValidator(_token_lifetime)]


class SettingsModel(BaseModel):
    """Base of the gateway's own sections: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )


class PluginSection(BaseModel):
    """A section that the plugin of its `type` understands; kept unread until that plugin is loaded."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    type: str = Field(description="Name of the plugin.")

    @property
    def options(self) -> dict[str, Any]:
        """What the plugin's own model checks: everything but `type`."""
        return dict(self.model_extra or {})

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Only the type: the options may hold secrets."""
        yield "type", self.type
