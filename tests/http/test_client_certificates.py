"""Whose certificate counts: that of the connection, or the one that a trusted proxy forwards."""

from __future__ import annotations

import base64
import ssl
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sluicegate.api.errors import Unauthenticated
from sluicegate.http import client_certificates
from sluicegate.http.client_certificates import (
    PEER_KEY,
    CertificateFormat,
    ClientCertificates,
    ForwardedCertificates,
    Peer,
    parse_certificate,
)

AUTHORITY = trustme.CA(organization_name="Acme Corp")
HEADER = "X-Client-Cert"
PROXY = "10.1.2.3"
DAY = timedelta(days=1)


def pem(*identities: str, **wanted: Any) -> str:
    return AUTHORITY.issue_cert(*identities, **wanted).cert_chain_pems[0].bytes().decode()


def der(text: str) -> bytes:
    return base64.b64decode("".join(text.splitlines()[1:-1]))


ACME = pem("acme@example.com", "acme.example", common_name="acme")
SELF = der(pem(common_name="proxy"))


def forwarding(form: CertificateFormat = "pem") -> ClientCertificates:
    return ClientCertificates(ForwardedCertificates(HEADER, form, (PROXY, "fd00::/8")))


def scope(peer: Peer | None, *values: str) -> dict[str, Any]:
    headers = [(HEADER.lower().encode(), value.encode("latin-1")) for value in values]
    return {PEER_KEY: peer, "headers": headers}


def test_a_certificate_says_who_its_owner_is() -> None:
    found = parse_certificate(der(ACME))
    assert (found.common_names, found.dns_names) == (("acme",), ("acme.example",))
    assert (found.emails, found.uris) == (("acme@example.com",), ())
    assert "CN=acme" in found.subject.split(",")
    assert "Acme Corp" in found.issuer
    assert len(found.fingerprint) == 64
    assert found.not_before < found.not_after


async def test_the_certificate_of_a_connection_counts() -> None:
    peer = Peer("192.0.2.1", der(ACME))
    for certificates in (ClientCertificates(), forwarding()):
        found = await certificates.of(scope(peer))
        assert found is not None
        assert found.common_names == ("acme",)
    assert await ClientCertificates().of(scope(Peer("192.0.2.1"))) is None
    assert await ClientCertificates().of({"headers": []}) is None


@pytest.mark.parametrize("address", [PROXY, f"::ffff:{PROXY}", "fd00::7"])
async def test_a_trusted_proxy_forwards_certificates(address: str) -> None:
    found = await forwarding().of(scope(Peer(address), quote(ACME)))
    assert found is not None
    assert found.emails == ("acme@example.com",)


@pytest.mark.parametrize(
    "peer", [None, Peer(None), Peer("10.1.2.4"), Peer("192.0.2.1"), Peer("fe80::1%eth0")]
)
async def test_nobody_else_does(peer: Peer | None) -> None:
    assert await forwarding().of(scope(peer, quote(ACME))) is None


async def test_without_a_configured_proxy_the_header_is_ignored() -> None:
    assert await ClientCertificates().of(scope(Peer(PROXY), quote(ACME))) is None


@pytest.mark.parametrize("values", [(), ("",)])
async def test_a_proxys_own_certificate_names_no_recipient(values: tuple[str, ...]) -> None:
    assert await forwarding().of(scope(Peer(PROXY, SELF), *values)) is None


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ((quote(ACME), quote(ACME)), "was sent 2 times"),
        (("x" * 40_000,), "longer than"),
        (("nonsense",), "no PEM certificate"),
        (("-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----",), ""),
        ((quote("-----BEGIN CERTIFICATE-----\n%%\n-----END CERTIFICATE-----"),), ""),
    ],
)
async def test_what_cannot_be_read_is_refused_without_repeating_it(
    values: tuple[str, ...], detail: str
) -> None:
    with pytest.raises(Unauthenticated, match="the client certificate cannot be read") as raised:
        await forwarding().of(scope(Peer(PROXY), *values))
    assert detail in (raised.value.detail or "")
    assert values[0] not in raised.value.for_operators


def hostile(change: tuple[bytes, bytes], *extensions: tuple[str, bytes]) -> bytes:
    """A certificate with these extensions, in which one part was replaced by another."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "acme")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
    )
    for oid, value in extensions:
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
        builder = builder.add_extension(extension, critical=False)
    encoded = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
    assert change[0] in encoded
    return encoded.replace(*change)


SUBJECT_NAMES, ISSUER_NAMES = "2.5.29.17", "2.5.29.18"
A_NAME = bytes.fromhex("3003820161")
UNCHANGED = (b"acme", b"acme")
HOSTILE = {
    "an extension twice": hostile(
        (b"\x55\x1d\x12", b"\x55\x1d\x11"), (SUBJECT_NAMES, A_NAME), (ISSUER_NAMES, A_NAME)
    ),
    "an X.400 address": hostile(UNCHANGED, (SUBJECT_NAMES, bytes.fromhex("3004a3020500"))),
    "an EDI party name": hostile(UNCHANGED, (SUBJECT_NAMES, bytes.fromhex("3004a5020500"))),
    "version 8": hostile((b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07")),
    "a bit string as its name": hostile((b"\x0c\x04acme", b"\x03\x04\x00cme")),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_certificates_are_refused_as_other_invalid_ones(kind: str) -> None:
    peer = Peer("192.0.2.1", HOSTILE[kind])
    with pytest.raises(Unauthenticated, match="the client certificate cannot be read"):
        await ClientCertificates().of(scope(peer))
    text = ssl.DER_cert_to_PEM_cert(HOSTILE[kind])
    with pytest.raises(Unauthenticated, match="the client certificate cannot be read"):
        await forwarding().of(scope(Peer(PROXY), quote(text)))


@pytest.mark.parametrize(("begins", "ends"), [(-2, -1), (1, 2)])
async def test_a_certificate_counts_only_while_it_is_valid(begins: int, ends: int) -> None:
    now = datetime.now(UTC)
    text = pem(common_name="acme", not_before=now + begins * DAY, not_after=now + ends * DAY)
    with pytest.raises(Unauthenticated, match="has expired, or is not valid yet"):
        await forwarding().of(scope(Peer(PROXY), quote(text)))


async def test_validity_is_checked_for_each_request() -> None:
    started = datetime.now(UTC)
    now = [int(started.timestamp() * 1000)]
    certificates = ClientCertificates(now=lambda: now[0])
    peer = Peer("192.0.2.1", der(pem(common_name="acme", not_after=started + DAY)))
    assert await certificates.of(scope(peer))
    now[0] += 2 * 86_400_000
    with pytest.raises(Unauthenticated, match="has expired"):
        await certificates.of(scope(peer))


async def test_a_certificate_is_parsed_once_and_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []

    def parse(value: bytes) -> Any:
        threads.append(threading.current_thread())
        return parse_certificate(value)

    monkeypatch.setattr(client_certificates, "parse_certificate", parse)
    certificates = forwarding()
    for _ in range(3):
        await certificates.of(scope(Peer(PROXY), quote(ACME)))
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
