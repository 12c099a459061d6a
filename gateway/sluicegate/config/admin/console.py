"""The section `console`: the web console for administrators."""

from __future__ import annotations

from pydantic import Field, SecretStr

from sluicegate._util.units import Duration
from sluicegate.config.admin.settings import AdminSettings
from sluicegate.config.model import SettingsModel
from sluicegate.config.sections.authentication import KeyAddress, OneOrMore, Words

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
