"""Codings of responses: which one a client accepts, and that its own decoder reads it."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard

from sluicegate.http.compression import CODINGS, accepted_coding

LINES = b'{"file":{"url":"https://bucket/part-0"}}\n' * 1_000


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        ([""], None),
        (["identity"], None),
        (["br, deflate"], None),
        (["gzip"], "gzip"),
        (["x-gzip"], "gzip"),
        (["GZIP"], "gzip"),
        (["gzip, deflate, br, zstd"], "zstd"),
        (["gzip, deflate", "zstd"], "zstd"),
        (["gzip;q=1.0, zstd;q=0.5"], "gzip"),
        (["zstd ; q=0, gzip"], "gzip"),
        (["gzip;q=0"], None),
        (["*"], "gzip"),
        (["*;q=0"], None),
        (["gzip;q=0, *"], None),
        (["identity, gzip;q=0.5"], None),
        (["identity;q=0.5, gzip"], "gzip"),
        (["identity;q=0, gzip;q=0.001"], "gzip"),
        (["gzip;q=high"], None),
        (["gzip;q=nan"], None),
        (["gzip;q=2"], None),
        (["gzip;level=1"], None),
        (["gzip;q=\xff, \xff"], None),
        ([",;,;q=1,"], None),
    ],
)
def test_the_coding_is_the_one_that_the_client_prefers(
    headers: list[str], expected: str | None
) -> None:
    assert accepted_coding([value.encode("latin-1") for value in headers]) == expected


def test_gzip_is_read_by_other_implementations() -> None:
    compressor = CODINGS["gzip"]()
    body = compressor.compress(LINES, last=False) + compressor.compress(LINES, last=True)
    assert gzip.decompress(body) == LINES + LINES


def test_zstd_is_read_by_other_implementations_in_one_frame() -> None:
    compressor = CODINGS["zstd"]()
    body = compressor.compress(LINES, last=False) + compressor.compress(LINES, last=True)
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    assert decompressor.decompress(body) == LINES + LINES
    assert decompressor.eof
    assert not decompressor.unused_data


def test_each_part_of_gzip_can_be_decompressed_when_it_arrives() -> None:
    compressor, decompressor = CODINGS["gzip"](), zlib.decompressobj(31)
    assert decompressor.decompress(compressor.compress(b"first\n", last=False)) == b"first\n"
    assert decompressor.decompress(compressor.compress(b"second\n", last=False)) == b"second\n"


def test_each_part_of_zstd_can_be_decompressed_when_it_arrives() -> None:
    compressor, decompressor = CODINGS["zstd"](), zstandard.ZstdDecompressor().decompressobj()
    assert decompressor.decompress(compressor.compress(b"first\n", last=False)) == b"first\n"
    assert decompressor.decompress(compressor.compress(b"second\n", last=False)) == b"second\n"


def test_windows_of_zstd_are_small_enough_for_every_client() -> None:
    """RFC 9659, section 3: at most 8 MB."""
    compressor = CODINGS["zstd"]()
    body = compressor.compress(LINES * 500, last=True)
    assert zstandard.get_frame_parameters(body).window_size <= 8 * 2**20
