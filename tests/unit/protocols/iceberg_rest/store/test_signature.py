"""Signatures of botocore are accepted, and those of other requests are not."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlsplit

import pytest
from botocore import auth as botocore_auth
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.process.random_cases import cases

from sluicegate.protocols.iceberg_rest.store.errors import StoreRefusal
from sluicegate.protocols.iceberg_rest.store.signature import RawRequest, Signature

KEY, SECRET, TOKEN = "SLGAAAAAAAAAAAAAAAAA", "a-secret_of-43", "token-_of.a~key"
BASE = "https://gateway.example/base"
HOST = "gateway.example"
KEYS = ["a/b.parquet", "a b+c%d=é/~.parquet", "x%2Fy", "日本/&?#!'()*", "ä\u0308", "a;b,c:@$"]
NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.fromtimestamp(NOW, UTC)
    monkeypatch.setattr(botocore_auth, "get_current_datetime", lambda **_: moment.replace(tzinfo=None))


def signed(
    key: str = "a", method: str = "GET", *, in_query: bool = False, query: str = "", **headers: str
) -> RawRequest:
    """A request as botocore signs it."""
    url = f"{BASE}/iceberg-files/SG/{quote(key, safe='/~')}{query}"
    request = AWSRequest(method, url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    request.context["payload_signing_enabled"] = False
    request.context["signing"] = {}
    kind: Any = S3SigV4QueryAuth if in_query else S3SigV4Auth
    kind(Credentials(KEY, SECRET, TOKEN), "s3", "us-east-1").add_auth(request)
    found = urlsplit(request.url)
    sent = [("host", HOST), *request.headers.items()]
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in sent]
    path = found.path.removeprefix("/base").encode()
    return RawRequest(method, path, found.query.encode(), raw)


def verify(request: RawRequest, now: float = NOW, secret: str = SECRET, host: str = HOST) -> Signature:
    signature = Signature.parse(request)
    signature.check(secret, (host,), b"/base")
    signature.check_time(now)
    return signature


def with_headers(request: RawRequest, changed: Mapping[str, str | None]) -> RawRequest:
    """The request with other values of headers; `None` removes one."""
    kept = [each for each in request.headers if each[0].decode() not in changed]
    new = [(k.encode(), v.encode("latin-1")) for k, v in changed.items() if v is not None]
    return replace(request, headers=[*kept, *new])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("in_query", [False, True])
def test_botocores_signature_is_accepted(key: str, method: str, in_query: bool) -> None:
    found = verify(signed(key, method, in_query=in_query))
    assert (found.access_key_id, found.token, found.time) == (KEY, TOKEN, NOW)
    assert list(found.others) == []


def test_signed_headers_have_normalized_values() -> None:
    request = signed(range="  bytes=0-9  ", x_amz_meta_note="a   b")
    verify(request)
    verify(with_headers(request, {"range": "bytes=0-9", "x-amz-meta-note": " a b "}))
    with pytest.raises(StoreRefusal, match="signature"):
        verify(with_headers(request, {"range": "bytes=0-10"}))


def test_parameters_of_the_request_are_covered() -> None:
    found = verify(signed(query="?x-id=GetObject"))
    assert list(found.others) == [(b"x-id", b"GetObject")]
    request = signed(query="?x-id=GetObject")
    with pytest.raises(StoreRefusal):
        verify(replace(request, query=request.query + b"&versionId=1"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        # Of these, botocore signs the first one.
        ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", None),
        ("UNSIGNED-PAYLOAD", "SignatureDoesNotMatch"),
        ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", "SignatureDoesNotMatch"),
        ("0" * 64, "AccessDenied"),
        ("", "AccessDenied"),
        ("anything", "AccessDenied"),
    ],
)
def test_requests_have_no_content(content: str, code: str | None) -> None:
    request = with_headers(signed(), {"x-amz-content-sha256": content})
    if code is None:
        verify(request)
        return
    with pytest.raises(StoreRefusal) as refused:
        verify(request)
    assert refused.value.s3_code == code


@pytest.mark.parametrize("content", ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"])
def test_marks_of_content_are_accepted(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(S3SigV4Auth, "payload", lambda *_: content)
    verify(signed())


@pytest.mark.parametrize(("late", "accepted"), [(-901, False), (-899, True), (899, True), (901, False)])
def test_clocks_can_differ_by_a_quarter_of_an_hour(late: int, accepted: bool) -> None:
    if accepted:
        verify(signed(), NOW + late)
        return
    with pytest.raises(StoreRefusal) as refused:
        verify(signed(), NOW + late)
    assert refused.value.s3_code == "RequestTimeTooSkewed"


@pytest.mark.parametrize(("late", "accepted"), [(-901, False), (0, True), (3599, True), (3600, False)])
def test_a_url_is_valid_for_its_time(late: int, accepted: bool) -> None:
    if accepted:
        verify(signed(in_query=True), NOW + late)
        return
    with pytest.raises(StoreRefusal):
        verify(signed(in_query=True), NOW + late)


@pytest.mark.parametrize(
    "changed",
    [
        {"authorization": None},
        {"authorization": "AWS4-HMAC-SHA256"},
        {"authorization": "AWS abc:def"},
        {"authorization": "Bearer x"},
        {"x-amz-date": None},
        {"x-amz-date": "20270115T080001Z"},
        {"x-amz-date": "Fri, 15 Jan 2027 08:00:00 GMT"},
        {"x-amz-content-sha256": None},
        {"x-amz-security-token": None},
        {"x-amz-security-token": "other"},
        {"host": "other.example"},
    ],
)
def test_changed_headers_are_refused(changed: dict[str, str | None]) -> None:
    request = with_headers(signed(), changed)
    host = dict(request.headers).get(b"host", b"").decode()
    with pytest.raises(StoreRefusal):
        verify(request, host=host)


def test_a_token_that_is_not_signed_is_refused() -> None:
    request = signed()
    [authorization] = [v.decode() for k, v in request.headers if k == b"authorization"]
    fewer = authorization.replace(";x-amz-security-token", "")
    assert fewer != authorization
    with pytest.raises(StoreRefusal, match="must cover"):
        verify(with_headers(request, {"authorization": fewer}))


def test_the_host_of_a_proxy_is_replaced_by_the_public_one() -> None:
    request = with_headers(signed(), {"host": "10.0.0.1:8080"})
    signature = Signature.parse(request)
    signature.check(SECRET, (HOST, "10.0.0.1:8080"), b"/base")
    with pytest.raises(StoreRefusal):
        signature.check(SECRET, ("10.0.0.1:8080",), b"/base")


@pytest.mark.parametrize(
    "large",
    [
        {"path": b"/" * 20_000},
        {"query": b"a=b&" * 5_000},
        {"headers": [(b"x", b"y" * 20_000)]},
        {"headers": [(b"x", b"y")] * 101},
    ],
)
def test_large_requests_are_refused_before_they_are_parsed(large: dict[str, Any]) -> None:
    with pytest.raises(StoreRefusal, match="too large"):
        verify(replace(signed(), **large))


def test_repeated_headers_and_parameters_are_refused() -> None:
    request = signed()
    for name, value in request.headers:
        if name != b"user-agent":
            with pytest.raises(StoreRefusal):
                verify(replace(request, headers=[*request.headers, (name, value)]))
    request = signed(in_query=True)
    for pair in request.query.split(b"&"):
        with pytest.raises(StoreRefusal):
            verify(replace(request, query=request.query + b"&" + pair))


def test_random_changes_are_refused() -> None:
    generator = random.Random(105)
    letters = string.ascii_letters + string.digits + "%+/-_=&;,. "
    for number in range(cases(2_000)):
        request = signed("d=1/a b+c.parquet", in_query=number % 2 == 0, range="bytes=0-9")
        names = [name.decode() for name, _ in request.headers]
        part = generator.choice(["path", "query", "method", *(n for n in names if n != "host")])
        if part == "method":
            changed = replace(request, method="HEAD")
        elif part == "path":
            changed = replace(request, path=_changed(request.path, generator, letters))
        elif part == "query":
            changed = replace(request, query=_changed(request.query, generator, letters))
        else:
            value = dict(request.headers)[part.encode()]
            new = _changed(value, generator, letters).decode("latin-1")
            changed = with_headers(request, {part: new})
        if _same(changed, request) or (part == "range" and number % 2 == 0):
            continue
        try:
            accepted: Signature | None = verify(changed)
        except StoreRefusal:
            accepted = None
        # The signature does not cover the id of the key, which is that of another token then.
        assert accepted is None or accepted.access_key_id != KEY, changed


def _changed(value: bytes, generator: random.Random, letters: str) -> bytes:
    at = generator.randrange(len(value) + 1)
    kind = generator.choice(["insert", "delete", "replace"])
    new = b"" if kind == "delete" else generator.choice(letters).encode()
    return value[:at] + new + value[at + (kind != "insert") :]


def _same(changed: RawRequest, request: RawRequest) -> bool:
    """Whether only the encoding of a request differs."""

    def normal(each: RawRequest) -> tuple[Any, ...]:
        headers = sorted((name, value.replace(b" ", b"")) for name, value in each.headers)
        query = sorted(parse_qsl(each.query.replace(b"+", b"%2B"), keep_blank_values=True))
        return each.method, unquote_to_bytes(each.path), query, headers

    return normal(changed) == normal(request)
