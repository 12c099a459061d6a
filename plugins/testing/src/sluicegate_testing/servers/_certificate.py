"""Certificates for servers on loopback, from an authority that is valid for one day."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, Name

_LIFE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """PEM files.

    Attributes:
        authority: Certificate of the authority, which clients must trust.
        certificate: Certificate of the server.
        key: Private key of the server.
    """

    authority: Path
    certificate: Path
    key: Path


def make_certificate(directory: Path) -> CertificateFiles:
    """Create a certificate for a server on 127.0.0.1 (`localhost`).

    The authority and the server have different certificates, because Rust's TLS rejects a single one.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name = _name("Sluicegate's test authority")
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        _valid(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_signs_certificates(), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _valid(_name("localhost"), authority_name, server_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_loopback(), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    files = CertificateFiles(*(directory / name for name in ("ca.pem", "server.pem", "server.key")))
    files.authority.write_bytes(_pem(authority))
    files.certificate.write_bytes(_pem(server))
    files.key.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def _name(common: str) -> Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def _valid(subject: Name, issuer: Name, key: EllipticCurvePrivateKey) -> CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFE)
    )


def _signs_certificates() -> x509.KeyUsage:
    from cryptography import x509

    unused = ("content_commitment", "data_encipherment", "encipher_only", "decipher_only")
    others = ("digital_signature", "key_encipherment", "key_agreement", "crl_sign")
    return x509.KeyUsage(key_cert_sign=True, **dict.fromkeys((*unused, *others), False))


def _loopback() -> x509.SubjectAlternativeName:
    from cryptography import x509

    address = ipaddress.ip_address("127.0.0.1")
    return x509.SubjectAlternativeName([x509.IPAddress(address), x509.DNSName("localhost")])


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)
