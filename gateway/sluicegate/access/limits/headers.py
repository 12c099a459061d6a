"""The response headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of a recipient, and what is left of it.

    Attributes:
        window: Seconds.
        resets: Seconds until everything is available again.
    """

    name: str
    size: int
    window: int
    left: int
    resets: int


def rate_limit_headers(quotas: Iterable[Quota]) -> list[tuple[bytes, bytes]]:
    """The headers as ASGI messages contain them; none without quotas."""
    shown = tuple(quotas)
    if not shown:
        return []
    policies = (f'"{each.name}";q={each.size};w={each.window}' for each in shown)
    states = (f'"{each.name}";r={each.left};t={each.resets}' for each in shown)
    return [
        (b"ratelimit-policy", ", ".join(policies).encode()),
        (b"ratelimit", ", ".join(states).encode()),
    ]
