"""Only a GET or HEAD of one object of the clients' bucket is signed."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import InvalidRequest, ObjectRequest, PermissionDenied
from sluicegate.protocols.iceberg_rest.file_access.sign_request import SignRequest, store_endpoint

ENDPOINT = store_endpoint("https://gateway.example/base")
START = f"{ENDPOINT}/SG/"


def body(uri: str = f"{START}proof/part-0.parquet", **values: Any) -> dict[str, Any]:
    return {"region": "us-east-1", "uri": uri, "method": "GET", "headers": {}, **values}


def parse(uri: str = f"{START}proof/part-0.parquet", **values: Any) -> SignRequest:
    return SignRequest.parse(body(uri, **values), ENDPOINT)


@pytest.mark.parametrize(
    ("public_url", "endpoint"),
    [
        ("https://gateway.example", "https://gateway.example/iceberg-files"),
        ("https://gateway.example/", "https://gateway.example/iceberg-files"),
        ("https://Gateway.Example:443/a/", "https://gateway.example/a/iceberg-files"),
        ("http://localhost:80", "http://localhost/iceberg-files"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/iceberg-files"),
        ("http://[::1]:8080/", "http://[::1]:8080/iceberg-files"),
        ("https://[::1]:80/", "https://[::1]:80/iceberg-files"),
    ],
)
def test_the_endpoint_has_the_form_that_clients_repeat(public_url: str, endpoint: str) -> None:
    assert store_endpoint(public_url) == endpoint


@pytest.mark.parametrize("method", ["GET", "HEAD", "get"])
def test_a_read_of_an_object_is_parsed(method: str) -> None:
    parsed = parse(method=method, properties={"a": "b"}, body=None, provider="s3")
    assert parsed.key == "proof/part-0.parquet"
    assert parsed.object_request == ObjectRequest("HEAD" if method == "HEAD" else "GET")


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("proof/a%2520b", "proof/a%20b"),
        ("proof/date%3D1/a", "proof/date=1/a"),
        ("proof/date=1/a", "proof/date=1/a"),
        ("proof/a+b", "proof/a+b"),
        ("proof/a%252Fb", "proof/a%2Fb"),
        ("proof%2Fa", "proof/a"),
    ],
)
def test_the_key_is_decoded_once(sent: str, key: str) -> None:
    assert parse(START + sent).key == key


@pytest.mark.parametrize(
    ("method", "query"),
    [("GET", "x-id=GetObject"), ("HEAD", "x-id=HeadObject"), ("GET", "")],
)
def test_the_name_of_the_operation_is_allowed(method: str, query: str) -> None:
    assert parse(f"{START}proof/a?{query}", method=method).key == "proof/a"


@pytest.mark.parametrize(
    "query",
    [
        "x-id=HeadObject",
        "x-id=GetObject&versionId=1",
        "versionId=1",
        "list-type=2&prefix=proof",
        "uploads",
        "uploads=",
        "uploadId=1&partNumber=1",
        "partNumber=1",
        "acl",
        "tagging",
        "torrent",
        "response-content-type=text/html",
        "X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "&",
        "?",
    ],
)
def test_subresources_are_refused(query: str) -> None:
    with pytest.raises(PermissionDenied, match="only reading an object"):
        parse(f"{START}proof/a?{query}")


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "x"])
def test_other_methods_are_refused(method: str) -> None:
    with pytest.raises(PermissionDenied, match="only GET and HEAD"):
        parse(method=method)


@pytest.mark.parametrize(
    "uri",
    [
        "https://gateway.example/base/iceberg-files/other/proof/a",
        "https://gateway.example/base/iceberg-files/sluicegate",
        "https://gateway.example/base/iceberg-files/sluicegatex/proof/a",
        "https://gateway.example/base/iceberg-files//SG/proof/a",
        "https://gateway.example/base/other/../iceberg-files/SG/proof/a",
        "https://gateway.example/iceberg-files/SG/proof/a",
        "https://sluicegate.gateway.example/base/iceberg-files/proof/a",
        "https://gateway.example.evil/base/iceberg-files/SG/proof/a",
        "https://gateway.example:444/base/iceberg-files/SG/proof/a",
        "https://user@gateway.example/base/iceberg-files/SG/proof/a",
        "http://gateway.example/base/iceberg-files/SG/proof/a",
        "https://lake.s3.amazonaws.com/t/a",
        "/base/iceberg-files/SG/proof/a",
        "file:///etc/passwd",
        "https://[",
        f"{START}proof/a\n",
        f"{START}proof/a b",
        f"{START}proof/é",
        f"{START}proof/{'a' * 20_000}",
    ],
)
def test_requests_to_other_places_are_refused(uri: str) -> None:
    with pytest.raises(PermissionDenied, match="path-style access"):
        parse(uri)


def test_a_fragment_is_refused() -> None:
    with pytest.raises(PermissionDenied):
        parse(f"{START}proof/a#b")


@pytest.mark.parametrize("provider", ["gcs", "adls", "", 1])
def test_other_providers_are_refused(provider: object) -> None:
    with pytest.raises(PermissionDenied, match="provider 's3'"):
        parse(provider=provider)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": None},
        {"method": 1},
        {"uri": None},
        {"uri": ["a"]},
        {"region": None},
        {"region": ""},
        {"headers": None},
        {"headers": []},
        {"headers": {"range": "bytes=0-"}},
        {"headers": {"range": [1]}},
    ],
)
def test_another_body_is_invalid(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        SignRequest.parse(body() | wrong, ENDPOINT)


@pytest.mark.parametrize(
    ("headers", "signed"),
    [
        (
            {"X-Amz-Checksum-Mode": ["ENABLED"], "Range": ["bytes=0-"]},
            {"x-amz-checksum-mode": "ENABLED"},
        ),
        ({"x-amz-te": ["append-md5"]}, {"x-amz-te": "append-md5"}),
        ({"x-amz-checksum-mode": ["ENABLED", "ENABLED"]}, {}),
        ({"x-amz-checksum-mode": ["ENABLED\nhost:evil"]}, {}),
        ({"x-amz-checksum-mode": []}, {}),
        ({"x-amz-request-payer": ["requester"], "host": ["evil"]}, {}),
    ],
)
def test_only_known_headers_are_signed(headers: dict[str, list[str]], signed: dict[str, str]) -> None:
    assert parse(headers=headers).object_request.headers == signed
