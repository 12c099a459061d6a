"""The section `server`: the address that the gateway listens on, TLS, and limits for clients."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from sluicegate._util.units import Duration
from sluicegate.config.model import SettingsModel
from sluicegate.http import limits
from sluicegate.http.client_certificates import CertificateFormat, ForwardedCertificates
from sluicegate.http.limits import ConcurrencyLimits, HttpLimits


class ServerTls(SettingsModel):
    """TLS of the gateway itself, without a proxy in front."""

    certificate: str = Field(description="File with the certificate chain, PEM.")
    key: str = Field(description="File with the private key, PEM.")
    client_ca: str | None = Field(
        default=None,
        description="File with the authorities whose client certificates are accepted. Clients can "
        "also connect without a certificate: authenticators decide which recipients need one.",
    )


def _header_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise ValueError("expected the name of a header: letters, digits and '-'")
    return name


def _addresses(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("expected at least one")
    for value in values:
        try:
            ip_network(value)
        except ValueError:
            raise ValueError(
                f"'{value}' is not an IP address or network; any other sender could impersonate "
                f"recipients"
            ) from None
    return values


class ClientCertificateSettings(SettingsModel):
    """Client certificates that proxies have verified, and forward in a header."""

    proxies: Annotated[tuple[str, ...], AfterValidator(_addresses)] = Field(
        description="Addresses or networks of the proxies. The header of any other sender is ignored. "
        "A proxy must verify certificates and replace the header of its clients."
    )
    header: Annotated[str, AfterValidator(_header_name)] = Field(
        default="X-Forwarded-Client-Cert", description="Name of the header."
    )
    format: CertificateFormat = Field(
        default="xfcc",
        description="Format of the certificate in the header: Envoy's fields, of which `Cert` is read; "
        "percent-encoded PEM (nginx, AWS); base64 of DER (HAProxy, Traefik); or RFC 9440.",
    )


class ServerSettings(SettingsModel):
    """The HTTP server and its limits."""

    removed_keys: ClassVar[Mapping[str, str]] = {
        "max_head": "64 KiB",
        "min_body_rate": "1,000 bytes per second",
    }

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8080, ge=0, le=65_535, description="Port to listen on; 0 selects a free port."
    )
    reload: Literal["signal", "on_change"] = Field(
        default="signal",
        description="When the gateway applies changes of this file, and of the files of secrets, keys "
        "and certificates: at SIGHUP, or within seconds after a change, too.",
    )
    compression: bool = Field(
        default=True,
        description="Compress JSON and NDJSON with zstd or gzip for clients that accept it. Disable it "
        "if a proxy compresses responses.",
    )
    forwarded_allow_ips: tuple[str, ...] = Field(
        default=("127.0.0.1",),
        description="Proxies whose headers `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.",
    )
    tls: ServerTls | None = Field(
        default=None,
        description="Certificates for HTTPS. If they are not set, the gateway serves HTTP.",
    )
    client_certificates: ClientCertificateSettings | None = Field(
        default=None, description="Client certificates that proxies forward."
    )
    shutdown_grace_period: Duration = Field(
        default=30, ge=0, description="How long requests in progress can continue after a stop signal."
    )
    head_timeout: Duration = Field(
        default=limits.DEFAULT_HEAD_TIMEOUT,
        ge=1,
        description="How long the headers of a request can take to arrive. After that, it fails with "
        "408, as do requests whose bodies arrive with less than 1,000 bytes per second.",
    )
    keep_alive_timeout: Duration = Field(
        default=limits.DEFAULT_KEEP_ALIVE_TIMEOUT,
        ge=1,
        description=(
            "How long an idle connection stays open. A load balancer must close idle connections "
            "earlier."
        ),
    )
    send_timeout: Duration = Field(
        default=limits.DEFAULT_SEND_TIMEOUT,
        ge=1,
        description="How long a client can read nothing of its response before its connection is "
        "closed.",
    )
    max_connections: int = Field(
        default=limits.DEFAULT_MAX_CONNECTIONS,
        ge=1,
        description=(
            "Maximum number of open connections. At the maximum, the connection that has waited "
            "longest for its client is closed for a new one. If none has waited for one second, new "
            "ones fail with 503."
        ),
    )
    max_connections_per_address: int = Field(
        default=limits.DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
        ge=1,
        description=(
            "Maximum number of open connections per IPv4 address or IPv6 /64. Further ones fail with "
            "429. `forwarded_allow_ips` are exempt."
        ),
    )

    max_requests: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS,
        ge=1,
        description=(
            "Maximum number of concurrent requests, each until the last byte of its response is sent. "
            "The same number can wait; further ones fail with 503."
        ),
    )
    max_requests_per_recipient: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS_PER_RECIPIENT,
        ge=1,
        description=(
            "Maximum number of concurrent requests per recipient, or per client of the delegation "
            "service. The same number can wait; further ones fail with 429."
        ),
    )
    max_requests_per_address: int = Field(
        default=limits.DEFAULT_MAX_REQUESTS_PER_ADDRESS,
        ge=1,
        description=(
            "Maximum number of concurrent requests per address that are not authenticated yet, or that "
            "read a file with a signed link. Further ones fail with 429."
        ),
    )
    queue_timeout: Duration = Field(
        default=limits.DEFAULT_QUEUE_TIMEOUT,
        ge=0,
        description="How long a request can wait for a slot before it fails with 429 or 503.",
    )

    @property
    def forwarded_certificates(self) -> ForwardedCertificates | None:
        """The header in which proxies forward client certificates, or `None`."""
        section = self.client_certificates
        if section is None:
            return None
        return ForwardedCertificates(section.header, section.format, section.proxies)

    @property
    def limits(self) -> HttpLimits:
        """The limits of connections and requests, for `serve_app`."""
        return HttpLimits(**self._named(HttpLimits))

    @property
    def concurrency(self) -> ConcurrencyLimits:
        """The limits of concurrent requests."""
        return ConcurrencyLimits(**self._named(ConcurrencyLimits))

    def _named(self, kind: type[HttpLimits | ConcurrencyLimits]) -> dict[str, Any]:
        names = {each.name for each in dataclasses.fields(kind)} & type(self).model_fields.keys()
        return {name: getattr(self, name) for name in names}
