"""The section `admin`: the Admin API."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from sluicegate._util.units import ByteSize, Duration
from sluicegate.config.model import SettingsModel, TokenLifetime
from sluicegate.config.sections.authentication import (
    IssuerSettings,
    IssuersOf,
    KeyAddress,
    OneOrMore,
    Words,
)

AdminRole = Literal["viewer", "admin", "owner"]


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("expected a network like 203.0.113.0/24, without host bits set") from None


class RoleSettings(SettingsModel):
    """A role of the Admin API, for all shares or for some."""

    role: AdminRole = Field(description="The role.")
    shares: OneOrMore | None = Field(
        default=None, description="Names of the only shares that the role is for. Default: all shares."
    )

    @model_validator(mode="after")
    def _owns_all(self) -> Self:
        if self.role == "owner" and self.shares is not None:
            raise ValueError("an owner manages all shares: leave out shares, or choose another role")
        return self


RoleEntry = Annotated[
    RoleSettings, BeforeValidator(lambda value: {"role": value} if isinstance(value, str) else value)
]


class AdminIssuerSettings(IssuerSettings):
    """An issuer of OIDC or OAuth tokens (JWTs) with which administrators can authenticate."""

    role_claim: Words = Field(
        default="roles",
        description="The claim with the roles or groups: a string, or a list of strings.",
    )
    roles: dict[Words, RoleEntry] = Field(
        min_length=1,
        description="Maps values of this claim to `viewer`, `admin` or `owner`, or to an entry with "
        "`role` and `shares`.",
    )


class AdminSettings(SettingsModel):
    """The Admin API at `/admin/v1`. Without this section, it does not exist."""

    token_lifetime: TokenLifetime = Field(
        default=90 * 86_400,
        description="How long the tokens of administrators are valid, unless they have another value. "
        "Maximum: 365d.",
    )
    max_body: ByteSize = Field(
        default=4_000_000,
        ge=1_024,
        description="Longest request, such as a shares file. Longer ones fail with 413.",
    )
    allow_from: tuple[Annotated[str, AfterValidator(_network)], ...] = Field(
        default=(),
        description="Networks that administrators can connect from, such as 203.0.113.0/24; all if "
        "empty.",
    )
    oidc: IssuersOf[AdminIssuerSettings] = Field(
        default=(), description="Issuers whose tokens authenticate administrators."
    )


LONGEST_SESSION = 7 * 86_400


class ConsoleOidcSettings(SettingsModel):
    """The client with which administrators log in at an issuer (OpenID Connect, code flow)."""

    issuer: KeyAddress = Field(
        description="One of the issuers of `admin.oidc`, whose `claim` and `roles` apply."
    )
    client_id: Words = Field(
        description="Id of the console's client at the issuer. Its redirect URI is `public_url` with "
        "`/console/login/callback`."
    )
    client_secret: SecretStr | None = Field(
        default=None, description="Secret of this client. Public clients have none."
    )
    scopes: OneOrMore = Field(
        default=("openid",),
        description="Requested scopes. `openid` is always requested. ID tokens must contain the claims "
        "that `admin.oidc` names.",
    )
    label: Words = Field(
        default="single sign-on", description="The name of the issuer on the login page."
    )


class ConsoleSettings(SettingsModel):
    """The console at `/console`. It needs the section `admin`, and the extra `sluicegate[console]`."""

    idle_timeout: Duration = Field(
        default=1800,
        ge=60,
        le=LONGEST_SESSION,
        description="How long a session lasts without requests.",
    )
    session_lifetime: Duration = Field(
        default=8 * 3600,
        ge=60,
        le=LONGEST_SESSION,
        description="How long a session lasts at most. It ends earlier with the token of its "
        "administrator.",
    )
    oidc: ConsoleOidcSettings | None = Field(
        default=None, description="Log in at an issuer of `admin.oidc`, in addition to tokens."
    )

    def check_administrators(self, admin: AdminSettings | None) -> None:
        """Check that the section `admin` is there, with the issuer of the login.

        Raises:
            ValueError: It is not.
        """
        if admin is None:
            raise ValueError("the console needs the section admin: add `admin: {}`")
        if self.oidc is not None and self.oidc.issuer not in {each.issuer for each in admin.oidc}:
            raise ValueError("oidc.issuer is none of the issuers of admin.oidc: add it there")
