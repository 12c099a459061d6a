"""Checks `public_url` and the TLS certificate of the gateway."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from sluicegate.cli.doctor.results import Check, Finding
from sluicegate.config import Settings
from sluicegate.config.secrets import world_readable
from sluicegate.config.sections.server import ServerTls

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_FEW_DAYS = 14
_LARGEST = 1_000_000
_RENEW = "renew the certificate, and restart or reload the gateway"


def address_checks(settings: Settings) -> Iterator[Check]:
    """The checks of the address and the certificate."""
    configured = "public_url" in settings.model_fields_set
    yield Check(
        "address", "public_url", partial(_public_url, settings.public_url, configured=configured)
    )
    tls = settings.server.tls
    if tls is None:
        yield Check("tls", "certificate", _no_tls)
    else:
        host = urlsplit(settings.public_url).hostname if configured else None
        remedy = "check the files of server.tls"
        yield Check("tls", "certificate", partial(_certificate, tls, host), remedy)


async def _public_url(url: str, *, configured: bool) -> AsyncIterator[Finding]:
    if not configured:
        yield Finding("skipped", "is not set: profiles contain the address that the gateway listens on")
        return
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        await anyio.getaddrinfo(host, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except OSError as error:
        remedy = "add the name to the DNS, or correct public_url"
        yield Finding("failed", f"{host} cannot be resolved: {error.strerror}", remedy)
        return
    if parts.scheme == "http" and not _is_loopback(host):
        remedy = "use https://: tokens are sent in clear"
        yield Finding("warning", f"{host} resolves, but the address starts with http://", remedy)
    else:
        yield Finding("ok", f"{host} resolves")


async def _no_tls() -> AsyncIterator[Finding]:
    yield Finding("skipped", "the gateway serves HTTP: a proxy must terminate TLS")


async def _certificate(tls: ServerTls, host: str | None) -> AsyncIterator[Finding]:
    for finding in await anyio.to_thread.run_sync(lambda: list(_files(tls, host))):
        yield finding


def _files(tls: ServerTls, host: str | None) -> Iterator[Finding]:
    from cryptography import x509

    path = Path(tls.certificate)
    try:
        with path.open("rb") as file:
            certificate = x509.load_pem_x509_certificates(file.read(_LARGEST))[0]
    except OSError as error:
        yield Finding("failed", f"{path}: {error.strerror}", "correct server.tls.certificate")
        return
    except ValueError:
        yield Finding("failed", f"{path} is not a certificate in PEM format", _RENEW)
        return
    yield _validity(certificate)
    yield from _key(tls)
    if host is not None and not _covers(certificate, host):
        message = f"the certificate is not for {host}, the host of public_url"
        yield Finding("warning", message, "recipients refuse it, unless a proxy terminates TLS")


def _validity(certificate: Certificate) -> Finding:
    now = datetime.now(UTC)
    if certificate.not_valid_before_utc > now:
        return Finding("failed", f"is not valid before {certificate.not_valid_before_utc}", _RENEW)
    days = (certificate.not_valid_after_utc - now).days
    if certificate.not_valid_after_utc <= now:
        return Finding("failed", f"has expired on {certificate.not_valid_after_utc:%Y-%m-%d}", _RENEW)
    if days < _FEW_DAYS:
        return Finding("warning", f"expires in {days} days", _RENEW)
    return Finding("ok", f"is valid for {days} days")


def _key(tls: ServerTls) -> Iterator[Finding]:
    path = Path(tls.key)
    try:
        if world_readable(path):
            yield Finding("failed", f"every user can read the key {path}", f"chmod o-r {path}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
    except ssl.SSLError as error:
        message = f"the key {path} cannot be used"
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"the key {path} does not belong to the certificate"
        yield Finding("failed", message, "use the certificate's own key, without a password")
    except OSError as error:
        yield Finding("failed", f"{path}: {error.strerror}", "correct server.tls.key")


def _covers(certificate: Certificate, host: str) -> bool:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    try:
        return ip_address(host) in names.get_values_for_type(x509.IPAddress)
    except ValueError:
        patterns = (name.lower() for name in names.get_values_for_type(x509.DNSName))
    labels = host.lower().count(".")
    return any(fnmatchcase(host.lower(), name) and name.count(".") == labels for name in patterns)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
