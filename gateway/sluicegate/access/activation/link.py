"""Activation links: what is known of one, and why it can't be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from sluicegate._util.clock import iso_utc
from sluicegate.access.recipients.profile import ACTIVATION_PATH
from sluicegate.api.errors import SluicegateError, Unavailable
from sluicegate.database.reads import RecipientRecord

RULE: Final = "activation link"
"""The rule of decisions about activation links."""
LinkState = Literal["pending", "used", "expired", "withdrawn"]

ASK = "ask the provider for a new link"
"""Ends messages about links that can't be used."""


class LinkEnded(SluicegateError):
    """The activation link was used, withdrawn or replaced, or has expired."""

    status = 410
    code = "ACTIVATION_LINK_ENDED"
    rule = RULE


class LinkUsed(LinkEnded):
    """The profile was downloaded with this activation link."""


class LinkInUse(Unavailable):
    """The profile is being downloaded with this activation link."""

    rule = RULE


@dataclass(frozen=True, slots=True)
class NewLink:
    """A new activation link. Its token is known only now, because the database stores a digest.

    Attributes:
        expires_at: Epoch milliseconds.
    """

    recipient: str
    token: str = field(repr=False)
    expires_at: int

    def url(self, public_url: str) -> str:
        """The link to send. The token is in the query string, which logs and spans leave out."""
        return f"{public_url.rstrip('/')}{ACTIVATION_PATH}?token={self.token}"


@dataclass(frozen=True, slots=True)
class Link:
    """An activation link that exists.

    Attributes:
        expires_at: Epoch milliseconds.
        used_at: Epoch milliseconds, or `None`.
        limited: Whether an administrator of only some shares created it.
    """

    recipient: RecipientRecord
    state: LinkState
    expires_at: int
    used_at: int | None
    is_in_use: bool = False
    limited: bool = False

    def check_pending(self) -> None:
        """Check that the link can be used."""
        if self.is_in_use:
            raise LinkInUse(
                "the profile is being downloaded with this link; if the download failed, try again in "
                "a minute"
            )
        if self.state == "used" and self.used_at is not None:
            at = iso_utc(self.used_at)
            raise LinkUsed(
                f"the profile was downloaded with this link at {at}, and a link works only once; if "
                "you did not download it, tell the provider now, who can revoke it"
            )
        if self.state == "expired":
            raise LinkEnded(f"this link expired at {iso_utc(self.expires_at)}; {ASK}")
        if self.state == "withdrawn":
            raise LinkEnded(f"the provider has withdrawn or replaced this link; {ASK}")
