"""The client certificate of a request: from its TLS connection, or from a trusted proxy's header.

A header counts only if the connection itself comes from a configured proxy and the header contains
exactly one certificate. Header values are parsed within size limits, in a worker thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
from starlette.datastructures import Headers

from sluicegate._util.clock import epoch_ms
from sluicegate._util.lru import LRU
from sluicegate.api.authentication import ClientCertificate
from sluicegate.api.errors import Unauthenticated
from sluicegate.http.client_certificates.forwarded import ForwardedCertificates, certificate_in_header
from sluicegate.http.connections import address_matcher

PEER_KEY = "sluicegate.peer"
# Characters of a header. A percent-encoded chain of RSA certificates has about 8,000.
_LONGEST = 32_768
# Clients whose parsed certificates are cached, so that their next requests need no worker thread.
_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection, independent of any header.

    Attributes:
        address: IP address. `None` for a Unix socket.
        certificate: The certificate of the TLS connection, in DER. `None` without one.
    """

    address: str | None
    certificate: bytes | None = field(default=None, repr=False)


class ClientCertificates:
    """Reads the client certificates of requests.

    Args:
        forwarded: How proxies forward certificates. `None` if no proxy is trusted to do so.
        now: Returns the current time in epoch milliseconds.
    """

    def __init__(
        self, forwarded: ForwardedCertificates | None = None, *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._forwarded = forwarded
        self._is_proxy = address_matcher(forwarded.proxies) if forwarded else None
        self._now = now
        self._known: LRU[bytes, ClientCertificate] = LRU(_KEPT)

    async def of(self, scope: Mapping[str, Any]) -> ClientCertificate | None:
        """The sender's client certificate.

        Args:
            scope: The request's ASGI scope.

        Raises:
            Unauthenticated: The certificate is not valid now, or a proxy's header cannot be parsed.
        """
        peer: Peer | None = scope.get(PEER_KEY)
        if peer is None:
            return None
        if self._forwarded and self._is_proxy and peer.address and self._is_proxy(peer.address):
            # The proxy's own certificate identifies the proxy, not the recipient.
            return await self._forwarded_in(scope, self._forwarded)
        if peer.certificate is None:
            return None
        return await self._read(peer.certificate, parse_certificate)

    async def _forwarded_in(
        self, scope: Mapping[str, Any], forwarded: ForwardedCertificates
    ) -> ClientCertificate | None:
        values = Headers(raw=scope["headers"]).getlist(forwarded.header)
        if not any(values):
            return None
        if len(values) > 1:
            raise _unreadable(f"{forwarded.header} was sent {len(values)} times")
        if len(values[0]) > _LONGEST:
            raise _unreadable(f"{forwarded.header} is longer than {_LONGEST} characters")

        def parse(value: bytes) -> ClientCertificate:
            text = value.decode("latin-1")
            return parse_certificate(certificate_in_header(text, forwarded.format))

        return await self._read(values[0].encode("latin-1"), parse)

    async def _read(
        self, value: bytes, parse: Callable[[bytes], ClientCertificate]
    ) -> ClientCertificate:
        key = hashlib.sha256(value).digest()
        found = self._known.get(key)
        if found is None:
            try:
                found = await anyio.to_thread.run_sync(parse, value)
            except ValueError as error:
                raise _unreadable(str(error)) from error
            self._known.put(key, found)
        if not found.not_before <= self._now() <= found.not_after:
            raise Unauthenticated("the client certificate has expired, or is not valid yet")
        return found


def parse_certificate(der: bytes) -> ClientCertificate:
    """Parse a certificate. Call it in a worker thread.

    Raises:
        ValueError: `der` is not a valid X.509 certificate, or has names of an unsupported type.
    """
    from cryptography import x509

    try:
        return _parsed(der)
    except (
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
        TypeError,  # for example, a name with a bit string
    ) as error:
        raise ValueError(str(error)) from error


def _parsed(der: bytes) -> ClientCertificate:
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(der)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return ClientCertificate(
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        serial_number=certificate.serial_number,
        fingerprint=hashlib.sha256(der).hexdigest(),
        not_before=int(certificate.not_valid_before_utc.timestamp() * 1000),
        not_after=int(certificate.not_valid_after_utc.timestamp() * 1000),
        common_names=tuple(str(each.value) for each in common),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)),
        uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
        emails=tuple(names.get_values_for_type(x509.RFC822Name)),
        der=der,
    )


def _unreadable(detail: str) -> Unauthenticated:
    return Unauthenticated("the client certificate cannot be read", detail=detail)
