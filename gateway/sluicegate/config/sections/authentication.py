"""The section `authentication`: identity providers and plugins that authenticate recipients."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from sluicegate._util.units import Duration
from sluicegate.config.model import PluginSection, SettingsModel

T = TypeVar("T")
AnyIssuer = TypeVar("AnyIssuer", bound="IssuerSettings")
OidcAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


def check_key_address(address: str) -> str:
    """Return the address if keys from it can be trusted.

    Raises:
        ValueError: The scheme is not https, and not http on the loopback interface.
    """
    parts = urlsplit(address)
    trusted = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))
    if not trusted or not parts.hostname:
        raise ValueError("expected an https:// address: over http, an attacker can replace the keys")
    if parts.username is not None or parts.fragment:
        raise ValueError("expected an address without user and fragment")
    return address


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _not_empty(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise ValueError("expected at least one")
    return values


KeyAddress = Annotated[str, AfterValidator(check_key_address)]
Words = Annotated[str, StringConstraints(min_length=1)]
OneOrMore = Annotated[
    tuple[Words, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    AfterValidator(_not_empty),
    WithJsonSchema({"type": ["string", "array"], "minItems": 1, "items": {"type": "string"}}),
]


class IssuerSettings(SettingsModel):
    """An issuer of OIDC or OAuth tokens (JWTs)."""

    issuer: KeyAddress = Field(
        description="Value of the claim `iss` in tokens. This and `jwks_uri` must start with `https://`."
    )
    audience: OneOrMore = Field(
        description=(
            "Required value of the claim `aud`: the gateway's name at the issuer. One value, or a list "
            "of accepted ones."
        )
    )
    jwks_uri: KeyAddress | None = Field(
        default=None, description="URL of the issuer's keys. If it is not set, the keys are discovered."
    )
    algorithms: Annotated[tuple[OidcAlgorithm, ...], AfterValidator(_not_empty)] = Field(
        default=("RS256", "ES256"),
        description="Accepted signature algorithms. A key is used only with algorithms of its type.",
    )
    claim: Words = Field(default="sub", description="The claim that identifies the sender.")
    leeway: Duration = Field(
        default=60,
        ge=0,
        le=600,
        description="Accepted difference between the clocks of issuer and gateway.",
    )
    keys_max_age: Duration = Field(
        default=600,
        ge=10,
        description="How long the issuer's keys are used before they are requested again.",
    )
    keys_max_stale: Duration = Field(
        default=3600,
        ge=10,
        description=(
            "How long the last known keys are used while the issuer does not respond. After that, "
            "requests with its tokens fail with 503."
        ),
    )


def _each_once(issuers: tuple[AnyIssuer, ...]) -> tuple[AnyIssuer, ...]:
    if len({each.issuer for each in issuers}) < len(issuers):
        raise ValueError("an issuer occurs twice; use one entry with a list of audiences")
    return issuers


# One entry for each issuer. Of two, one would be ignored.
IssuersOf = Annotated[tuple[AnyIssuer, ...], AfterValidator(_each_once)]


class OidcSettings(IssuerSettings):
    """An issuer of OIDC or OAuth tokens (JWTs) with which recipients can authenticate."""

    recipients: dict[Words, Words] | None = Field(
        default=None,
        description=(
            "Maps values of the claim to names of recipients. If it is not set, the value must be the "
            "exact name of the recipient."
        ),
    )


class AuthenticationSettings(SettingsModel):
    """Identity providers and plugins that authenticate recipients."""

    oidc: IssuersOf[OidcSettings] = Field(
        default=(), description="Issuers whose tokens are accepted as bearer tokens."
    )
    authenticators: tuple[PluginSection, ...] = Field(
        default=(),
        description="Plugins that authenticate recipients. The gateway calls them last, in this order.",
    )
