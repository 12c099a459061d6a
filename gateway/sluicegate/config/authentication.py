"""The section `authentication`: who else than the gateway may say who a recipient is."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from sluicegate.config.model import PluginSection, SettingsModel
from sluicegate.units import Duration

T = TypeVar("T")
OidcAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


def check_key_address(address: str) -> str:
    """The address itself, when keys that come from it can be trusted.

    Raises:
        ValueError: It is not https, nor http on this machine.
    """
    parts = urlsplit(address)
    trusted = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))
    if not trusted or not parts.hostname:
        raise ValueError("expected an https:// address: whoever changes the keys on their way gets in")
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


class OidcSettings(SettingsModel):
    """An issuer of OIDC or OAuth tokens (JWTs) by which recipients may prove themselves."""

    issuer: KeyAddress = Field(
        description="Exactly what the tokens' claim `iss` says; `https://`, as is `jwks_uri`."
    )
    audience: OneOrMore = Field(
        description=(
            "What the claim `aud` must say, or hold: the gateway's name at the issuer. One, or a list."
        )
    )
    jwks_uri: KeyAddress | None = Field(
        default=None, description="Where the issuer's keys are; without it, they are discovered."
    )
    algorithms: Annotated[tuple[OidcAlgorithm, ...], AfterValidator(_not_empty)] = Field(
        default=("RS256", "ES256"),
        description="What tokens may be signed by; each key only by what fits it.",
    )
    claim: Words = Field(default="sub", description="The claim that says who the recipient is.")
    recipients: dict[Words, Words] | None = Field(
        default=None,
        description=(
            "Recipient by the claim's value. Without it, the value is the recipient's name, letter by "
            "letter."
        ),
    )
    leeway: Duration = Field(
        default=60, ge=0, le=600, description="How much the issuer's clock may differ."
    )
    keys_max_age: Duration = Field(
        default=600,
        ge=10,
        description="How long the issuer's keys are used before they are asked anew.",
    )
    keys_max_stale: Duration = Field(
        default=3600,
        ge=10,
        description=(
            "How long the last known keys are used while the issuer does not answer; then its tokens "
            "are answered with 503."
        ),
    )


def _each_once(issuers: tuple[OidcSettings, ...]) -> tuple[OidcSettings, ...]:
    if len({each.issuer for each in issuers}) < len(issuers):
        raise ValueError("an issuer is named twice; give one entry a list of audiences")
    return issuers


class AuthenticationSettings(SettingsModel):
    """Who else than the gateway may say who a recipient is."""

    oidc: Annotated[tuple[OidcSettings, ...], AfterValidator(_each_once)] = Field(
        default=(), description="Issuers whose tokens are accepted as bearer tokens."
    )
    authenticators: tuple[PluginSection, ...] = Field(
        default=(),
        description="Plugins that recognise recipients by something else, asked last, in this order.",
    )
