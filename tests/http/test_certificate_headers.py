"""What proxies forward is read as they spell it, and nothing else is."""

from __future__ import annotations

import base64
import contextlib
from urllib.parse import quote

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.http.client_certificates import CertificateFormat, certificate_in_header

AUTHORITY = trustme.CA()
LEAF, OTHER = (
    AUTHORITY.issue_cert(common_name=name).cert_chain_pems[0].bytes().decode()
    for name in ("acme", "other")
)
DER = base64.b64decode("".join(LEAF.splitlines()[1:-1]))
BASE64 = base64.b64encode(DER).decode()
ESCAPED = quote(LEAF)
FORMATS: tuple[CertificateFormat, ...] = ("xfcc", "pem", "der", "rfc9440")


def beginning(text: str) -> str:
    """The id of a case: certificates differ from process to process."""
    return text[:4]


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("xfcc", f'Hash=abc;Cert="{ESCAPED}";Subject="CN=acme,O=\\"A; B\\"";URI=spiffe://x/y'),
        ("xfcc", f'By=spiffe://gateway;Cert="{ESCAPED}"'),
        ("xfcc", f"cert={ESCAPED}"),
        ("xfcc", f' Cert="{ESCAPED}" ; DNS=a.example ; DNS=b.example '),
        ("pem", ESCAPED),
        ("pem", quote(LEAF, safe="+=/")),
        ("pem", quote(LEAF + AUTHORITY.cert_pem.bytes().decode())),
        ("der", BASE64),
        ("rfc9440", f":{BASE64}:"),
    ],
    ids=beginning,
)
def test_a_certificate_is_read(spelling: CertificateFormat, value: str) -> None:
    assert certificate_in_header(value, spelling) == DER


@pytest.mark.parametrize(
    ("spelling", "value", "problem"),
    [
        ("xfcc", "", "not in Envoy"),
        ("xfcc", "Hash=abc", "no field Cert"),
        ("xfcc", 'Hash=abc;Subject="CN=acme"', "no field Cert"),
        ("xfcc", f'Cert="{ESCAPED}",Cert="{quote(OTHER)}"', "several hops"),
        ("xfcc", f'Subject="CN=acme",Cert="{ESCAPED}"', "several hops"),
        ("xfcc", f'Cert="{ESCAPED}";Cert="{quote(OTHER)}"', "several hops"),
        ("xfcc", f'Cert="{ESCAPED}"x', "not in Envoy"),
        ("xfcc", 'Cert="', "not in Envoy"),
        ("xfcc", "Cert=x", "no PEM certificate"),
        ("pem", BASE64, "no PEM certificate"),
        ("pem", "-----BEGIN CERTIFICATE-----", "no PEM certificate"),
        ("pem", f"{ESCAPED},{quote(OTHER)}", "several hops"),
        ("pem", f"{ESCAPED}, {quote(OTHER)}", "several hops"),
        ("pem", f"{ESCAPED}%2C{quote(OTHER)}", "several hops"),
        ("pem", f"{ESCAPED}x", "several hops"),
        ("xfcc", f'Cert="{ESCAPED},{quote(OTHER)}"', "several hops"),
        ("der", f"{BASE64},{BASE64}", "not a single"),
        ("der", f":{BASE64}:", "not a single"),
        ("rfc9440", BASE64, "RFC 9440"),
        ("rfc9440", ":", "RFC 9440"),
        ("rfc9440", f":{BASE64}:, :{BASE64}:", "not a single"),
    ],
    ids=beginning,
)
def test_what_is_spelled_otherwise_is_refused(
    spelling: CertificateFormat, value: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        certificate_in_header(value, spelling)


@given(st.sampled_from(FORMATS), st.text('Cert="\\;,:%= \nABé-', max_size=300))
def test_no_text_fails_in_another_way(spelling: CertificateFormat, value: str) -> None:
    with contextlib.suppress(ValueError):
        certificate_in_header(value, spelling)


def test_quotes_without_end_are_read_in_linear_time() -> None:
    for value in ('Cert="' + '\\"' * 16_000, 'a="";' * 6_000 + "=", "a" * 32_000):
        with pytest.raises(ValueError, match="not in Envoy"):
            certificate_in_header(value, "xfcc")


def test_chains_without_end_are_read_in_linear_time() -> None:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    for rest in (begin + "A" * 32_000, (begin + end) * 600 + "x", " \n" * 16_000):
        with pytest.raises(ValueError, match="several hops"):
            certificate_in_header(quote(LEAF + rest + "x"), "pem")
