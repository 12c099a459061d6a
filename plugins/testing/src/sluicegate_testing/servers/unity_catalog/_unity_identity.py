"""Authentication at the fake Unity Catalog: tokens, their rejection, and token exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sluicegate_testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest

Distrust = Literal["user", "issuer", "key"]
_GRANT = (
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "urn:ietf:params:oauth:token-type:access_token",
)
_DISTRUSTED: Mapping[Distrust, tuple[str, str]] = {
    "user": ("PERMISSION_DENIED", "User not allowed: gateway@example.com"),
    "issuer": ("PERMISSION_DENIED", "Invalid access token."),
    "key": ("INTERNAL", "No key found in file:/opt/unity/etc/conf/certs.json with kid 5396a2e4"),
}


@dataclass
class UnityIdentities:
    """The tokens of the fake catalog.

    Attributes:
        tokens: Accepted tokens; `None` if authorization is off.
        distrusted: Well-formed tokens that are rejected, with the reason: their user is unknown or
            disabled, they are from another issuer, or the server no longer has the key that signed
            them.
        exchanged: Access tokens by the identity token that they are issued for.
        unknown_subjects: Identity tokens of unknown users.
        lifetime: Reported lifetime of exchanged tokens in seconds.
    """

    tokens: set[str] | None = None
    distrusted: dict[str, Distrust] = field(default_factory=dict)
    exchanged: dict[str, str] = field(default_factory=dict)
    unknown_subjects: set[str] = field(default_factory=set)
    lifetime: int = 3600

    def refusal(self, token: str | None) -> UnityReply | None:
        """Return why a token is rejected; `None` if it is accepted, or authorization is off."""
        if self.tokens is None or token in self.tokens:
            return None
        if token is None:
            return UnityReply.refusing("UNAUTHENTICATED", "No authorization found.")
        why = self.distrusted.get(token)
        return UnityReply.refusing(
            *(_DISTRUSTED[why] if why else ("UNAUTHENTICATED", "Invalid access token."))
        )

    def exchange(self, request: UnityRequest) -> UnityReply:
        """Return the response of the token endpoint."""
        form = request.form
        if (form.get("grant_type"), form.get("requested_token_type")) != _GRANT:
            return UnityReply.refusing("INVALID_ARGUMENT", "Unsupported grant type")
        if "subject_token_type" not in form:
            return UnityReply.refusing("INVALID_ARGUMENT", "Subject token type is required")
        if self.tokens is None:
            return UnityReply.refusing("INVALID_ARGUMENT", "Authorization is disabled")
        subject = form.get("subject_token", "")
        if subject in self.unknown_subjects:
            return UnityReply.refusing("INVALID_ARGUMENT", "User not allowed: gateway@example.com")
        if subject not in self.exchanged:
            return UnityReply.refusing("UNAUTHENTICATED", f"Invalid token: {subject}")
        return UnityReply.of(
            {
                "access_token": self.exchanged[subject],
                "issued_token_type": _GRANT[1],
                "token_type": "Bearer",
                "expires_in": self.lifetime,
            }
        )
