"""Parses the headers in which proxies forward client certificates.

Sources: Envoy, "x-forwarded-client-cert"; RFC 9440, section 2.1 (`Client-Cert`); nginx,
`$ssl_client_escaped_cert`; AWS, "Mutual TLS headers" (`X-Amzn-Mtls-Clientcert-Leaf`); HAProxy,
`ssl_c_der,base64`; Traefik, "PassTLSClientCert".
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ssl import PEM_cert_to_DER_cert
from typing import Literal
from urllib.parse import unquote

CertificateFormat = Literal["xfcc", "pem", "der", "rfc9440"]

_PAIR = re.compile(r'\s*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^",;]*)\s*')
_END = "-----END CERTIFICATE-----"
# The rest of a certificate chain in PEM.
_CHAIN = re.compile(r"(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----)*")


@dataclass(frozen=True, slots=True)
class ForwardedCertificates:
    """How trusted proxies forward certificates.

    Attributes:
        header: Name of the header.
        format: Format of the certificate in the header.
        proxies: Addresses and networks of the proxies.
    """

    header: str
    format: CertificateFormat
    proxies: tuple[str, ...]


def certificate_in_header(value: str, spelling: CertificateFormat) -> bytes:
    """The single certificate in a header's value, in DER.

    Args:
        value: The header's value.
        spelling: `xfcc` (Envoy, the field `Cert`), `pem` (percent-encoded PEM), `der` (base64), or
            `rfc9440` (base64 between colons).

    Raises:
        ValueError: The value does not have this format, or contains the certificates of several hops.
    """
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
