"""The section `server`: where the gateway listens, and what clients may send and hold."""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic import Field

from sluicegate.config.model import SettingsModel
from sluicegate.http import limits
from sluicegate.http.limits import AdmissionLimits, HttpLimits
from sluicegate.units import ByteSize, Duration


class ServerSettings(SettingsModel):
    """How the gateway listens."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8080, ge=0, le=65_535, description="Port to listen on; 0 takes a free one."
    )
    max_body: ByteSize = Field(
        default=2_000_000, ge=1, description="Longest request body; a longer one is answered with 413."
    )
    forwarded_allow_ips: tuple[str, ...] = Field(
        default=("127.0.0.1",),
        description="Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.",
    )
    stop_timeout: Duration = Field(
        default=30, ge=0, description="How long running answers may go on after the signal to stop."
    )
    max_head: ByteSize = Field(
        default=limits.DEFAULT_MAX_HEAD,
        ge=1_024,
        description=(
            "Longest request line with headers and trailers, 32 bytes added for each header; a longer "
            "one is answered with 431."
        ),
    )
    head_timeout: Duration = Field(
        default=limits.DEFAULT_HEAD_TIMEOUT,
        ge=1,
        description="How long a request's headers may take to arrive; then it is answered with 408.",
    )
    min_body_rate: ByteSize = Field(
        default=limits.DEFAULT_MIN_BODY_RATE,
        ge=1,
        description=(
            "Bytes a second at which a request's body must arrive, once it has taken `head_timeout`; a "
            "slower one is answered with 408."
        ),
    )
    keep_alive_timeout: Duration = Field(
        default=limits.DEFAULT_KEEP_ALIVE_TIMEOUT,
        ge=1,
        description=(
            "How long an idle connection stays open. A balancer in front must close its own sooner."
        ),
    )
    max_connections: int = Field(
        default=limits.DEFAULT_MAX_CONNECTIONS,
        ge=1,
        description=(
            "Most open connections. Then the one that waits longest for its client is closed for a new "
            "one; where none has waited for a second, a new one is answered with 503."
        ),
    )
    max_connections_per_address: int = Field(
        default=limits.DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
        ge=1,
        description=(
            "Most open connections of an IPv4 address or IPv6 /64; more are answered with 429. "
            "`forwarded_allow_ips` are exempt."
        ),
    )

    max_requests: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS,
        ge=1,
        description=(
            "Most requests of the gateway under way, until the last byte of each answer is sent. As "
            "many more may wait; further ones are answered with 503."
        ),
    )
    max_requests_per_recipient: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS_PER_RECIPIENT,
        ge=1,
        description=(
            "Most requests of a recipient under way. As many more may wait; further ones are answered "
            "with 429."
        ),
    )
    max_requests_per_address: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS_PER_ADDRESS,
        ge=1,
        description=(
            "Most requests of an address under way that are not authenticated yet, or that read a file "
            "by a signed link; further ones are answered with 429."
        ),
    )
    queue_timeout: Duration = Field(
        default=limits.DEFAULT_QUEUE_TIMEOUT,
        ge=0,
        description="How long a request may wait for its turn, before it is answered with 429 or 503.",
    )

    @property
    def limits(self) -> HttpLimits:
        """The limits of connections and requests, for `serve_app`."""
        return HttpLimits(**self._named(HttpLimits))

    @property
    def admission(self) -> AdmissionLimits:
        """The bounds of requests under way."""
        return AdmissionLimits(**self._named(AdmissionLimits))

    def _named(self, kind: type[HttpLimits | AdmissionLimits]) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(kind)}
