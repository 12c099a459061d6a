"""Paths survive the ways in which clients read and send them."""

from __future__ import annotations

import random
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocols.iceberg_rest.file_access.object_keys import (
    quote_path,
    quote_paths,
    unquote_path,
)

PATHS = [
    "part-0.parquet",
    "date=2024-01-01/part-0.parquet",
    "~/manifest-1.avro",
    "a b/100%/x+y&z=1.parquet",
    "already%20encoded/%2F.parquet",
    "hash#question?version.parquet",
    "Zürich/données-日本.parquet",
    "a//b.parquet",
    "/leading.parquet",
    "./a/../b",
    "a/.hidden/b",
    "s3://lake/other table/part.parquet",
    "abfss://container@account.dfs.core.windows.net/t/part.parquet",
    "file:///tmp/t/part.parquet",
    "back\\slash:colon;semi,comma*star[0]{1}.parquet",
    "new\nline\tand\x00null",
    "%",
    "~",
]


@given(st.lists(st.sampled_from(PATHS) | st.text("a./\n =", max_size=5), max_size=4))
def test_many_paths_are_quoted_as_each_is(paths: list[str]) -> None:
    encoded = [path.encode() for path in paths]
    assert quote_paths(encoded) == [quote_path(path) for path in encoded]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_unquoted_exactly(path: str) -> None:
    quoted = quote_path(path.encode())
    assert unquote_path(quoted) == path.encode()


@pytest.mark.parametrize("path", PATHS)
def test_a_quoted_path_has_nothing_that_clients_change(path: str) -> None:
    quoted = quote_path(path.encode())
    assert quoted.isascii()
    assert quoted.isprintable()
    assert not set(quoted) & set("?#:+ &;,'\"\\*[]{}")
    assert "//" not in quoted
    assert not quoted.startswith("/")
    assert not {".", ".."} & set(quoted.split("/"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("safe", ["/~", "/", "", "/=~"])
def test_a_path_survives_the_encoding_of_a_request(path: str, safe: str) -> None:
    sent = quote(quote_path(path.encode()), safe=safe)
    assert unquote_path(unquote(sent)) == path.encode()


@pytest.mark.parametrize(
    "text",
    ["", "%2f", "%2fa", "a%20b%", "%41", "a b", "é", "a%2Fb", "x%zz", "a//b", "/a", "./a", "a/../b"],
)
def test_another_form_of_a_path_is_not_unquoted(text: str) -> None:
    assert unquote_path(text) is None


def test_absolute_locations_are_one_segment() -> None:
    assert quote_path(b"s3://lake/t/a.parquet") == "s3%3A%2F%2Flake%2Ft%2Fa.parquet"
    assert quote_path(b"date=1/a b.parquet") == "date=1/a%20b.parquet"


def test_random_bytes_are_quoted_and_unquoted() -> None:
    generator = random.Random(50)
    for _ in range(3000):
        path = bytes(generator.choice(b"a/.~%?#= \xff\x80:") for _ in range(generator.randint(1, 12)))
        assert unquote_path(quote_path(path)) == path
