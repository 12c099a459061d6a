"""The section `admin`: the Admin API."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sluicegate._util.units import ByteSize
from sluicegate.config.model import SettingsModel, TokenLifetime
from sluicegate.config.sections.authentication import IssuerSettings, IssuersOf, OneOrMore, Words

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
