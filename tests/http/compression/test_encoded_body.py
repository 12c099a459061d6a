"""Bodies that are encoded once, and sent several times with different ends."""

from __future__ import annotations

import gzip
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib

from sluicegate.http.compression.codings import CODINGS
from sluicegate.http.compression.encoded_body import BodyEncoder

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
