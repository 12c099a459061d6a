"""Google's access tokens."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An OAuth token with its expiry (epoch milliseconds); `repr` doesn't show the token."""

    value: str = field(repr=False)
    expires_at: int
