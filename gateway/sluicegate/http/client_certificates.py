"""The client certificate of a request: from its TLS connection, or from a trusted proxy's header.

A header counts only if the connection itself comes from a configured proxy and the header contains
exactly one certificate. Header values are parsed within size limits, in a worker thread.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ssl import PEM_cert_to_DER_cert
from typing import Any, Literal
from urllib.parse import unquote

import anyio.to_thread
from starlette.datastructures import Headers

from sluicegate._util.clock import epoch_ms
from sluicegate._util.lru import LRU
from sluicegate.api.authentication import ClientCertificate
from sluicegate.api.errors import Unauthenticated
from sluicegate.http.connections import address_matcher

CertificateFormat = Literal["xfcc", "pem", "der", "rfc9440"]

_PAIR = re.compile(r'\s*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^",;]*)\s*')
_END = "-----END CERTIFICATE-----"
# The rest of a certificate chain in PEM.
_CHAIN = re.compile(r"(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----)*")


@dataclass(frozen=True, slots=True)
class ForwardedCertificates:
    """How trusted proxies forward certificates."""

    header: str
    format: CertificateFormat
    proxies: tuple[str, ...]


def certificate_in_header(value: str, spelling: CertificateFormat) -> bytes:
    """The single certificate in a header's value, in DER."""
    return _DECODERS[spelling](value.strip())


def _from_xfcc(value: str) -> bytes:
    """Parse Envoy's header: `Key=value` pairs between semicolons. A comma separates hops."""
    found: dict[str, str] = {}
    position = 0
    while True:
        pair = _PAIR.match(value, position)
        if pair is None:
            raise ValueError("the header is not in Envoy's format")
        name, text = pair[1].lower(), pair[2]
        if text.startswith('"'):
            text = re.sub(r"\\(.)", r"\1", text[1:-1])
        if name == "cert" and name in found:
            raise ValueError("the header contains the certificates of several hops")
        found[name] = text
        position = pair.end()
        if position == len(value):
            break
        if value[position] == ",":
            raise ValueError("the header contains the certificates of several hops")
        if value[position] != ";":
            raise ValueError("the header is not in Envoy's format")
        position += 1
    if "cert" not in found:
        raise ValueError("the header has no field Cert: configure the proxy to forward it")
    return _from_pem(found["cert"])


def _from_pem(value: str) -> bytes:
    text = unquote(value).strip()
    leaf, end, rest = text.partition(_END)
    if not end:
        raise ValueError("the header contains no PEM certificate")
    if not _CHAIN.fullmatch(rest):
        # A proxy that adds to the client's header separates by a comma what the client sent first.
        raise ValueError("the header contains the certificates of several hops")
    return PEM_cert_to_DER_cert(leaf + end)


def _from_base64(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError("the header is not a single base64-encoded certificate") from error


def _from_structured_field(value: str) -> bytes:
    if len(value) < 2 or not (value[0] == value[-1] == ":"):
        raise ValueError("the header is not a byte sequence as RFC 9440 requires")
    return _from_base64(value[1:-1])


_DECODERS: Mapping[CertificateFormat, Callable[[str], bytes]] = {
    "xfcc": _from_xfcc,
    "pem": _from_pem,
    "der": _from_base64,
    "rfc9440": _from_structured_field,
}


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
    """Reads the client certificates of requests."""

    def __init__(
        self, forwarded: ForwardedCertificates | None = None, *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._forwarded = forwarded
        self._is_proxy = address_matcher(forwarded.proxies) if forwarded else None
        self._now = now
        self._known: LRU[bytes, ClientCertificate] = LRU(_KEPT)

    async def of(self, scope: Mapping[str, Any]) -> ClientCertificate | None:
        """The sender's client certificate."""
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
    """Parse a certificate. Call it in a worker thread."""
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
