"""The section `admin`: the Admin API."""

from __future__ import annotations

from pydantic import Field

from sluicegate._util.units import ByteSize
from sluicegate.config.model import SettingsModel, TokenLifetime


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
