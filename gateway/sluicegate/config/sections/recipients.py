"""The credentials of recipients."""

from __future__ import annotations

from pydantic import Field

from sluicegate._util.units import Duration
from sluicegate.config.model import SettingsModel, TokenLifetime

LONGEST_ACCESS_TOKEN = 86_400
LONGEST_ACTIVATION = 30 * 86_400


class RecipientSettings(SettingsModel):
    """The bearer tokens and OAuth clients of recipients."""

    token_lifetime: TokenLifetime = Field(
        default=90 * 86_400,
        description=(
            "How long a new token or OAuth client is valid, unless the recipient has its own value. "
            "Maximum: 365d."
        ),
    )
    rotation_grace: Duration = Field(
        default=86_400, ge=0, description="How long old tokens remain valid after a rotation."
    )
    warn_before: Duration = Field(
        default=14 * 86_400,
        ge=0,
        description="How long before its expiry the gateway warns of the last valid token or OAuth "
        "client of a recipient: in the log, as an event and as a metric. 0 never warns.",
    )
    activation_lifetime: Duration = Field(
        default=3 * 86_400,
        ge=60,
        le=LONGEST_ACTIVATION,
        description="How long an activation link can be used.",
    )
    access_token_lifetime: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_ACCESS_TOKEN,
        description=(
            "How long the access tokens of OAuth clients are valid. Clients request a new token 10 "
            "minutes before the expiry; with shorter values, for every request."
        ),
    )
