"""Responses are compressed for clients that accept it, and otherwise stay as they are."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.http.compression import (
    CODINGS,
    MIN_SIZE,
    BodyEncoder,
    Compression,
    coded_headers,
    coding_of,
)

LONG = b'{"name":"orders"}\n' * 1_000
GZIP = {"accept-encoding": "gzip"}


def response(content: bytes = LONG, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(content, status, headers=named, media_type="application/json")


async def sent(
    app: ASGIApp,
    headers: dict[str, str],
    method: str = "GET",
    messages: list[Message] | None = None,
    announce: bool = False,
) -> list[Message]:
    """The messages that reach the server; with `messages`, they are added to these."""
    found = [] if messages is None else messages

    async def send(message: Message) -> None:
        found.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: Scope = {
        "type": "http",
        "asgi": {"spec_version": "2.4"},
        "method": method,
        "headers": raw,
        "extensions": {},
    }
    await Compression(app, announce=announce)(scope, receive, send)
    return found


def headers_of(messages: list[Message]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in messages[0]["headers"]}


def body_of(messages: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in messages[1:])


async def test_a_long_response_is_compressed_and_has_the_new_length() -> None:
    messages = await sent(response(), GZIP)
    headers, body = headers_of(messages), body_of(messages)
    assert gzip.decompress(body) == LONG
    assert headers["content-encoding"] == "gzip"
    assert headers["content-length"] == str(len(body))
    assert headers["vary"] == "Accept-Encoding"
    assert [message["type"] for message in messages] == ["http.response.start", "http.response.body"]


async def test_a_response_for_a_client_that_accepts_no_coding_only_varies() -> None:
    messages = await sent(response(), {})
    headers = headers_of(messages)
    assert body_of(messages) == LONG
    assert "content-encoding" not in headers
    assert headers["vary"] == "Accept-Encoding"


async def test_other_fields_of_vary_are_kept() -> None:
    messages = await sent(response(Vary="Authorization"), GZIP)
    assert headers_of(messages)["vary"] == "Authorization, Accept-Encoding"


@pytest.mark.parametrize(
    "unchanged",
    [
        response(b"x" * (MIN_SIZE - 1)),
        response(status=206),
        response(status=304),
        response(content_encoding="br"),
        response(Cache_Control="no-store, no-transform"),
        Response(LONG, media_type="application/octet-stream"),
        Response(LONG),
    ],
    ids=["short", "partial", "not modified", "encoded", "no-transform", "file", "no type"],
)
async def test_other_responses_are_sent_as_they_are(unchanged: Response) -> None:
    expected = headers_of([{"headers": unchanged.raw_headers}])
    messages = await sent(unchanged, GZIP)
    assert headers_of(messages) == expected
    assert body_of(messages) == unchanged.body


async def test_a_response_of_the_minimum_size_is_compressed() -> None:
    messages = await sent(response(b"x" * MIN_SIZE), GZIP)
    assert headers_of(messages)["content-encoding"] == "gzip"


async def test_the_response_to_head_keeps_the_length_of_the_original() -> None:
    messages = await sent(response(), GZIP, method="HEAD")
    assert headers_of(messages)["content-length"] == str(len(LONG))
    assert "content-encoding" not in headers_of(messages)


async def test_a_strong_entity_tag_becomes_weak() -> None:
    assert headers_of(await sent(response(ETag='"a"'), GZIP))["etag"] == 'W/"a"'
    assert headers_of(await sent(response(ETag='W/"a"'), GZIP))["etag"] == 'W/"a"'
    assert headers_of(await sent(response(ETag='"a"'), {}))["etag"] == '"a"'


def stream(lines: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def test_parts_of_a_stream_are_sent_before_the_next_ones_are_produced() -> None:
    messages: list[Message] = []
    sent_so_far: list[int] = []

    async def lines() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b'{"number":%d}\n' % number
            sent_so_far.append(len(messages))

    await sent(stream(lines()), GZIP, messages=messages)
    assert sent_so_far == [2, 3, 4]  # the start, and one message for each part
    assert gzip.decompress(body_of(messages)) == b'{"number":0}\n{"number":1}\n{"number":2}\n'
    assert "content-length" not in headers_of(messages)


@pytest.mark.parametrize(
    "parts", [[LONG, LONG], [b"", LONG, b""], [LONG[:100], LONG[100:]]], ids=["long", "empty", "short"]
)
async def test_a_response_of_known_length_in_several_parts_loses_its_length(
    parts: list[bytes],
) -> None:
    messages: list[Message] = []
    sent_so_far: list[int] = []

    async def content() -> AsyncIterator[bytes]:
        for part in parts:
            yield part
            sent_so_far.append(len(messages))

    length = {"Content-Length": str(sum(map(len, parts)))}
    known = StreamingResponse(content(), headers=length, media_type="application/json")
    await sent(known, GZIP, messages=messages)
    headers = headers_of(messages)
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert "content-length" not in headers
    assert gzip.decompress(body_of(messages)) == b"".join(parts)
    assert sent_so_far == list(range(2, len(parts) + 2))  # the start, and one message for each part
    assert [message.get("more_body") for message in messages[1:]] == [*[True] * len(parts), False]


async def test_a_response_of_known_length_in_several_parts_keeps_it_if_it_is_not_compressed() -> None:
    async def content() -> AsyncIterator[bytes]:
        yield LONG[:100]
        yield LONG[100:]

    length = {"Content-Length": str(len(LONG))}
    messages = await sent(
        StreamingResponse(content(), headers=length, media_type="application/json"), {}
    )
    assert headers_of(messages)["content-length"] == str(len(LONG))
    assert body_of(messages) == LONG


async def test_long_parts_that_are_compressed_on_threads_stay_in_order() -> None:
    parts = [bytes([65 + number]) * 300_000 for number in range(4)]

    async def lines() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    messages = await sent(stream(lines()), GZIP)
    assert gzip.decompress(body_of(messages)) == b"".join(parts)


async def test_connections_other_than_http_pass_through() -> None:
    scopes: list[Scope] = []

    async def app(scope: Scope, receive: object, send: object) -> None:
        scopes.append(scope)

    async def nothing(*_: object) -> Message:
        return {}

    await Compression(app)({"type": "lifespan"}, nothing, nothing)  # type: ignore[arg-type]
    assert scopes == [{"type": "lifespan"}]


@pytest.mark.parametrize("accepted", [GZIP, {}])
async def test_a_response_that_varies_already_says_so_once(accepted: dict[str, str]) -> None:
    messages = await sent(response(Vary="Accept-Encoding"), accepted)
    assert headers_of(messages)["vary"] == "Accept-Encoding"


async def test_a_coding_is_announced_only_to_an_application_that_can_use_it() -> None:
    seen: list[str | None] = []

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(coding_of(scope))
        await response()(scope, receive, send)

    for accepted, announce in ((GZIP, True), ({}, True), (GZIP, False)):
        await sent(noting, accepted, announce=announce)
    assert seen == ["gzip", None, None]


async def test_what_the_application_has_encoded_is_passed_on() -> None:
    body = gzip.compress(LONG)

    async def encoding(scope: Scope, receive: Receive, send: Send) -> None:
        headers = coded_headers(coding_of(scope))
        await Response(body, headers=headers, media_type="application/json")(scope, receive, send)

    messages = await sent(encoding, GZIP, announce=True)
    headers = headers_of(messages)
    assert body_of(messages) == body
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = b'{"file":{"url":"https://store.example/orders/part-0.parquet"}}\n'
PARTS = [LINES * 10, LINES * 5_000, LINES]
PLAIN = b"".join(PARTS)
TAILS = [b"", b'{"endStreamAction":{}}\n', LINES * 10_000]


def decoded(coding: str | None, body: bytes) -> bytes:
    """The body as a decoder reads it that accepts one member or frame, and nothing after it."""
    if coding is None:
        return body
    decoder = zstd.ZstdDecompressor() if coding == "zstd" else zlib.decompressobj(31)
    plain = decoder.decompress(body)
    assert decoder.eof
    assert decoder.unused_data == b""
    return plain


@pytest.mark.parametrize("tail", TAILS, ids=["none", "line", "long"])
@pytest.mark.parametrize("coding", [None, *CODINGS])
async def test_the_end_completes_the_body(coding: str | None, tail: bytes) -> None:
    encoder = BodyEncoder(coding)
    sent = b"".join([await encoder.part(part) for part in PARTS])
    assert decoded(coding, sent + encoder.finish(tail)) == PLAIN + tail


@pytest.mark.parametrize("coding", list(CODINGS))
async def test_one_body_can_have_several_ends(coding: str) -> None:
    encoder = BodyEncoder(coding)
    sent = await encoder.part(PLAIN)
    end = encoder.end
    for tail in TAILS:
        assert decoded(coding, sent + end.finish(tail)) == PLAIN + tail


@pytest.mark.parametrize("coding", list(CODINGS))
async def test_each_part_can_be_decoded_when_it_arrives(coding: str) -> None:
    encoder = BodyEncoder(coding)
    decoder = zstd.ZstdDecompressor() if coding == "zstd" else zlib.decompressobj(31)
    for part in PARTS:
        assert decoder.decompress(await encoder.part(part)) == part


async def test_other_decoders_of_gzip_accept_the_checksum() -> None:
    encoder = BodyEncoder("gzip")
    body = await encoder.part(PLAIN) + encoder.finish(LINES)
    assert gzip.decompress(body) == PLAIN + LINES
    assert isal_zlib.decompress(body, 31) == PLAIN + LINES


@pytest.mark.parametrize("coding", list(CODINGS))
async def test_a_body_is_compressed(coding: str) -> None:
    encoder = BodyEncoder(coding)
    assert len(await encoder.part(PLAIN)) < len(PLAIN) / 10


@pytest.mark.parametrize("coding", list(CODINGS))
@given(st.binary(min_size=1, max_size=300), st.lists(st.binary(max_size=300)), st.binary(max_size=300))
async def test_any_bytes(coding: str, head: bytes, parts: list[bytes], tail: bytes) -> None:
    encoder = BodyEncoder(coding)
    sent = b"".join([await encoder.part(part) for part in (head, *parts)])
    assert decoded(coding, sent + encoder.finish(tail)) == b"".join((head, *parts)) + tail
