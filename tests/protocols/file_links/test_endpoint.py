from __future__ import annotations

import http.client
import logging
import os
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
import pytest
from support.servers.file_link_server import FileLinkServer

CONTENT = bytes(range(256)) * 20


def raw(url: str, method: str = "GET") -> tuple[int, bytes]:
    """A request with exactly this path: other clients tidy it up."""
    split = urlsplit(url)
    connection = http.client.HTTPConnection(split.netloc)
    try:
        connection.request(method, f"{split.path}?{split.query}")
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def part(server: FileLinkServer) -> str:
    server.write("orders/part-0.parquet", CONTENT)
    return server.link("orders/part-0.parquet")


def test_a_link_opens_without_a_token(part: str) -> None:
    response = httpx.get(part)
    assert response.status_code == 200
    assert response.content == CONTENT
    assert response.headers["content-length"] == str(len(CONTENT))
    assert response.headers["accept-ranges"] == "bytes"
    assert response.headers["content-type"] == "application/octet-stream"
    assert parsedate_to_datetime(response.headers["last-modified"]).tzinfo


def test_head_says_what_get_would(part: str) -> None:
    head, get = httpx.head(part), httpx.get(part)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-length", "accept-ranges", "content-type", "etag", "last-modified"):
        assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=100-199", 100, 200),
        ("bytes=5000-", 5000, 5120),
        ("bytes=-8", 5112, 5120),
        ("bytes=5100-9999", 5100, 5120),
        ("bytes=-9999", 0, 5120),
    ],
)
def test_a_range_is_answered_with_its_place(part: str, wanted: str, start: int, end: int) -> None:
    response = httpx.get(part, headers={"Range": wanted})
    assert response.status_code == 206
    assert response.content == CONTENT[start:end]
    assert response.headers["content-range"] == f"bytes {start}-{end - 1}/5120"
    assert response.headers["content-length"] == str(end - start)


@pytest.mark.parametrize("wanted", ["bytes=0-1,5-6", "bytes=9-1", "lines=1-2", "bytes=x"])
def test_a_range_that_is_not_served_gets_the_whole(part: str, wanted: str) -> None:
    response = httpx.get(part, headers={"Range": wanted})
    assert (response.status_code, len(response.content)) == (200, 5120)


def test_a_range_does_not_change_the_answer_to_head(part: str) -> None:
    response = httpx.head(part, headers={"Range": "bytes=0-1"})
    assert (response.status_code, response.headers["content-length"]) == (200, "5120")


@pytest.mark.parametrize("wanted", ["bytes=5120-", "bytes=9000-9001", "bytes=-0"])
def test_a_range_beyond_the_end_names_the_size(part: str, wanted: str) -> None:
    response = httpx.get(part, headers={"Range": wanted})
    assert response.status_code == 416
    assert response.headers["content-range"] == "bytes */5120"
    assert response.json()["errorCode"] == "RANGE_NOT_SATISFIABLE"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If-None-Match": "{etag}"}, 304),
        ({"If-None-Match": '"other"'}, 200),
        ({"If-Modified-Since": "{date}"}, 304),
        ({"If-Match": '"other"'}, 412),
        ({"If-Match": "{etag}"}, 200),
        ({"Range": "bytes=0-1", "If-Range": "{etag}"}, 206),
        ({"Range": "bytes=0-1", "If-Range": '"other"'}, 200),
        ({"Range": "bytes=0-1", "If-Range": "{date}"}, 206),
        ({"Range": "bytes=9999-", "If-Range": '"other"'}, 200),
    ],
)
def test_conditional_requests(part: str, headers: dict[str, str], status: int) -> None:
    known = httpx.head(part).headers
    filled = {
        name: value.format(etag=known["etag"], date=known["last-modified"])
        for name, value in headers.items()
    }
    assert httpx.get(part, headers=filled).status_code == status


def test_an_empty_file_is_served(server: FileLinkServer) -> None:
    server.write("empty", b"")
    response = httpx.get(server.link("empty"))
    assert (response.status_code, response.content) == (200, b"")
    assert httpx.get(server.link("empty"), headers={"Range": "bytes=0-"}).status_code == 416


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS"])
def test_a_link_reads_and_nothing_else(server: FileLinkServer, method: str) -> None:
    path = server.write("kept", b"kept")
    response = httpx.request(method, server.link("kept"))
    assert response.status_code == 405
    assert response.json()["errorCode"] == "METHOD_NOT_ALLOWED"
    assert path.read_bytes() == b"kept"


@pytest.mark.parametrize(
    ("name", "storage"), [("gone", "files"), ("orders", "files"), ("", "files"), ("kept", "retired")]
)
def test_what_is_not_there_is_not_found(
    server: FileLinkServer, part: str, name: str, storage: str
) -> None:
    response = httpx.get(server.link(name, storage=storage))
    assert response.status_code == 404
    assert response.json()["errorCode"] == "RESOURCE_DOES_NOT_EXIST"
    assert str(server.root) not in response.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/files/", "/others/"),
        ("part-0", "part-1"),
        ("orders/", "orders//"),
        ("orders/", "orders/../orders/"),
        ("X-Amz-Expires=600", "X-Amz-Expires=6000"),
        ("X-Amz-Date=2", "X-Amz-Date=3"),
        ("X-Amz-Signature=", "X-Amz-Signature=0"),
        ("&X-Amz-Signature=", "&X-Signature="),
        ("?", "?versionId=1&"),
    ],
)
def test_a_changed_link_is_refused(part: str, old: str, new: str) -> None:
    assert old in part
    status, body = raw(part.replace(old, new))
    assert status == 403
    assert b'"errorCode":"PERMISSION_DENIED"' in body


def test_an_expired_link_is_refused(server: FileLinkServer, part: str) -> None:
    response = httpx.get(server.link("orders/part-0.parquet", clock=lambda: 0))
    assert response.status_code == 403
    assert "expired" in response.json()["message"]


@pytest.mark.parametrize(
    "name",
    [
        "../{other}/secret",
        "orders/../../{other}/secret",
        "/{other_path}/secret",
        "orders/..",
        "./orders/part-0.parquet",
        "orders//part-0.parquet",
        "orders/part-0.parquet\0",
        "out/secret",
        "secret-link",
        "orders/loop",
        "pipe",
    ],
)
def test_even_a_signed_link_stays_inside_the_root(
    server: FileLinkServer, part: str, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_bytes(b"secret")
    for link, target in {"out": outside, "secret-link": outside / "secret"}.items():
        (server.root / link).unlink(missing_ok=True)
        (server.root / link).symlink_to(target)
    (server.root / "orders" / "loop").unlink(missing_ok=True)
    (server.root / "orders" / "loop").symlink_to("../../" + outside.name)
    if not (server.root / "pipe").exists():
        os.mkfifo(server.root / "pipe")
    link = server.link(name.format(other=outside.name, other_path=str(outside).lstrip("/")))
    for sent in (link, link.replace("..", "%2e%2e"), link.replace("..", "%2E.")):
        status, body = raw(sent)
        assert status == 403, body
        assert b"secret" not in body
        assert str(outside).encode() not in body


@pytest.mark.parametrize(
    ("method", "name", "end"), [("GET", "x", "0"), ("GET", "gone", ""), ("PUT", "x", "")]
)
def test_a_refusal_is_logged_without_the_links_query(
    server: FileLinkServer, method: str, name: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="sluicegate"):
        assert httpx.request(method, server.link(name) + end).is_client_error
    lines = [
        caplog.handler.format(record)
        for record in caplog.records
        if record.name.startswith("sluicegate")
    ]
    assert lines
    assert not any("X-Amz" in line for line in lines)
