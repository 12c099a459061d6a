"""What has the shape of a secret never gets into a log line."""

import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sluicegate.telemetry.redaction import is_suspicious, redact, redact_fields

SECRET = "s3cr3tVALUEwith.some-dots_and~more123"

SHAPES = {
    "authorization header": "Authorization: Bearer {}",
    "lower-case header": "authorization: bearer {}",
    "authorization without a scheme": "authorization={}",
    "basic authorization": "Authorization: Basic {}",
    "header pairs of bytes": "[(b'host', b'x'), (b'authorization', b'Bearer {}')]",
    "header dictionary": "{{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "bearer in prose": "request with bearer token {} was refused",
    "encoded bearer": "q=Bearer%20{}&x=1",
    "S3 signature": "GET https://b.s3.amazonaws.com/k?X-Amz-Date=20260801T000000Z&X-Amz-Signature={}&x=1",
    "S3 session token": "https://b.s3.amazonaws.com/k?x-amz-security-token={}",
    "S3 credential": "https://b.s3.amazonaws.com/k?X-Amz-Credential={}%2F20260801%2Feu-west-1",
    "S3 token header": "x-amz-security-token:{}",
    "S3 token in a dictionary": '{{"X-Amz-Security-Token": "{}"}}',
    "S3 token in a pair": "('X-Amz-Security-Token', '{}')",
    "SigV4 header": "AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host, Signature={}",
    "SigV2 query": "?AWSAccessKeyId=AKIDEXAMPLE&Signature={}",
    "URL in a URL": "redirect=https%3A%2F%2Fb%2Fk%3FX-Amz-Signature%3D{}",
    "URL in a URL in a URL": "u=https%253A%252F%252Fb%253FX-Amz-Signature%253D{}",
    "Google signature": "https://storage.googleapis.com/b/k?X-Goog-Signature={}",
    "Azure SAS": "https://a.blob.core.windows.net/c/b?sv=2024-11-04&sig={}&se=2026",
    "Azure SAS first": "?sig={}",
    "Azure account key": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x",
    "database URL": "postgresql+asyncpg://gate:{}@db.internal:5432/gate",
    "URL without a user": "redis://:{}@cache:6379/0",
    "password with an @": "https://user:p@{}@host/x",
    "password argument": "connect(host='db', password='{}', user='gate')",
    "password with spaces": "password='correct horse {} staple'",
    "cut short": "{{'password': 'abc {}",
    "profile": '{{"shareCredentialsVersion": 1, "bearerToken": "{}", "endpoint": "https://x"}}',
    "escaped profile": '"{{\\"bearerToken\\": \\"{}\\"}}"',
    "temporary credentials": "{{'accessKeyId': 'ASIA', 'secretAccessKey': '{}', 'sessionToken': 'x'}}",
    "session token": "aws_session_token={}",
    "secret key of boto": "aws_secret_access_key = {}",
    "Hadoop property": "fs.s3a.secret.key={}",
    "OAuth form": "grant_type=client_credentials&client_secret={}&scope=all",
    "OAuth answer": '{{"access_token":"{}","token_type":"bearer"}}',
    "token parameter": "https://gate/console?token={}",
    "token of the gateway's own": "profile of acme has slg_{}",
    "client secret of the gateway's own": "unknown client slgs_{}",
    "JWT": "assertion eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.{}",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
}

HARMLESS = [
    "GET /delta-sharing/shares/sales/schemas/eu/tables/orders/query 200",
    "a bearer token is missing; send Authorization with the one of your profile",
    'WWW-Authenticate: Bearer realm="sluicegate"',
    "Bearer authentication is required",
    "listening on http://127.0.0.1:8080/x@y",
    "the design of signal processing; keyboards; tokens",
    "version=3 files=120 duration_ms=0.3",
    "share 'sales' was not granted",
]


def leaks(secret: str, text: str) -> bool:
    """Whether a piece of the secret that would help to guess it is in the text."""
    return any(secret[start : start + 8] in text for start in range(len(secret) - 7))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_secret_of_any_shape_is_replaced(shape: str) -> None:
    redacted = redact(shape.format(SECRET))
    assert not leaks(SECRET, redacted)
    assert "***" in redacted


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_the_cheap_check_misses_no_shape(shape: str) -> None:
    assert is_suspicious(shape.format(SECRET))
    assert is_suspicious(shape.format(SECRET).upper())


@pytest.mark.parametrize(
    "path",
    [
        "/iceberg/v1/shares/lake/namespaces/eu/tables/signups/sign",
        "/delta-sharing/shares/lake/schemas/eu/tables/orders/query",
    ],
)
def test_paths_of_frequent_requests_pass_the_cheap_check(path: str) -> None:
    assert not is_suspicious(f"POST {path} 200")


@pytest.mark.parametrize("text", HARMLESS)
def test_a_line_without_a_secret_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_what_names_the_place_of_a_secret_stays_readable() -> None:
    url = (
        "https://b.s3.amazonaws.com/k?X-Amz-Date=20260801T000000Z&X-Amz-Signature=abc&X-Amz-Expires=900"
    )
    assert redact(f"GET {url} failed: 403") == (
        "GET https://b.s3.amazonaws.com/k?X-Amz-Date=20260801T000000Z&X-Amz-Signature=***"
        "&X-Amz-Expires=900 failed: 403"
    )
    assert (
        redact("sqlite:///x postgresql://gate:pw@db/gate")
        == "sqlite:///x postgresql://gate:***@db/gate"
    )


@settings(deadline=None)
@given(
    shape=st.sampled_from(sorted(SHAPES.values())),
    secret=st.text(string.ascii_letters + string.digits + "-_.~+/", min_size=20, max_size=80),
    before=st.text(string.ascii_letters + " ,.\n", max_size=20),
    after=st.text(string.printable, max_size=20),
)
def test_no_secret_survives_whatever_surrounds_it(
    shape: str, secret: str, before: str, after: str
) -> None:
    secret = f"Zq{secret}"  # no prose, and nothing that a shape itself holds
    assume(not leaks(secret, f"{before} {after}"))
    assert not leaks(secret, redact(f"{before} {shape.format(secret)} {after}"))


@settings(deadline=None)
@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@settings(deadline=None)
@given(st.sampled_from(sorted(SHAPES.values())), st.text(string.printable, max_size=30))
def test_redacting_a_secret_twice_is_redacting_it_once(shape: str, after: str) -> None:
    once = redact(shape.format(SECRET) + after)
    assert redact(once) == once


def test_fields_are_redacted_at_any_depth_and_by_their_names() -> None:
    fields = {
        "url": f"https://x/?sig={SECRET}",
        "count": 3,
        "ratio": 0.5,
        "none": None,
        "nested": {"headers": [("authorization", f"Bearer {SECRET}")], "password": SECRET},
        "session_token": SECRET,
        "Authorization": SECRET,
        "error": ValueError(f"password={SECRET}"),
        f"sig={SECRET}": 1,
    }
    redacted = redact_fields(fields)
    assert not leaks(SECRET, str(redacted))
    assert redacted["count"] == 3
    assert redacted["ratio"] == 0.5
    assert redacted["none"] is None
