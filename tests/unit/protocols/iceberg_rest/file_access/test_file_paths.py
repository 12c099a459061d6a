"""A path is accepted from its recipient, for its table, version and limits, until it expires."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gateways.memory_gateway import KEYS, catalog_table, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.process.clock import Clock

from sluicegate.api import CatalogTable, PermissionDenied, Principal, SharedTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import (
    FilePaths,
    ProvenFile,
    location_of,
    quote_path,
    quote_paths,
    unquote_path,
)
from sluicegate.signing.keyring import KeyRing

LIFETIME = 1000
NOW = 1_800_000_042
ISSUED = 1_800_000_000
SOURCE = catalog_table()
SHARED = shared_table()
START = "s3://SG/"


def paths_at(now: float = NOW, keys: KeyRing = KEYS) -> FilePaths:
    return FilePaths(keys, LIFETIME, Clock(now))


def key_of(
    path: str,
    principal: Principal = ACME,
    shared: SharedTable = SHARED,
    source: CatalogTable = SOURCE,
    version: int = 7,
) -> str:
    (issued,) = paths_at().of_view(principal, shared, source, version).of([path])
    return issued.removeprefix(START)


def verify(
    key: str,
    principal: Principal = ACME,
    shared: SharedTable = SHARED,
    source: CatalogTable = SOURCE,
    now: float = NOW,
) -> ProvenFile:
    return paths_at(now).verify(principal, shared, source, key)


@pytest.mark.parametrize("path", ["a.parquet", "d=1/ä b.parquet", "s3://lake/t/x", "~/manifest-0.avro"])
def test_a_path_is_accepted_from_its_recipient(path: str) -> None:
    assert verify(key_of(path)) == ProvenFile(path, 7, ISSUED)


def test_paths_are_in_order_and_different_for_each_file() -> None:
    names = [f"part-{number}" for number in range(100)]
    view = paths_at().of_view(ACME, SHARED, SOURCE, 3)
    issued = view.of(names)
    assert [each.rpartition("/")[2] for each in issued] == names
    assert issued == [view.of([name])[0] for name in names]
    assert len({each.split("/")[4] for each in issued}) == 100
    assert view.of([]) == []


def test_paths_of_the_same_time_of_issue_are_identical() -> None:
    first = paths_at(ISSUED).of_view(ACME, SHARED, SOURCE, 7)
    later = paths_at(ISSUED + LIFETIME // 10 - 1).of_view(ACME, SHARED, SOURCE, 7)
    last = paths_at(ISSUED + LIFETIME // 10).of_view(ACME, SHARED, SOURCE, 7)
    assert (first.version, first.issued_at) == (7, ISSUED)
    assert first.of(["a"]) == later.of(["a"]) != last.of(["a"])
    again = paths_at().of_view(ACME, SHARED, SOURCE, 7, ISSUED)
    assert again.of(["a"]) == first.of(["a"])


def test_a_path_expires() -> None:
    key = key_of("a")
    assert verify(key, now=ISSUED + LIFETIME - 1).path == "a"
    with pytest.raises(PermissionDenied, match="expired: load the table again, or plan"):
        verify(key, now=ISSUED + LIFETIME)


def test_a_short_lifetime_is_not_rounded_away() -> None:
    view = FilePaths(KEYS, 5, Clock(NOW)).of_view(ACME, SHARED, SOURCE, 1)
    assert view.issued_at == NOW


FILTERED = shared_table(partition_filter="country = 'DE' AND region = recipient.region")
NORTH, SOUTH = (replace(ACME, properties={"region": region}) for region in ("n", "s"))


@pytest.mark.parametrize(
    ("issued_to", "sent_by"),
    [
        ({}, {"principal": RIVAL}),
        ({}, {"principal": replace(RIVAL, name="acme")}),
        ({}, {"shared": shared_table("customers")}),
        ({}, {"shared": replace(SHARED, share_id="s2")}),
        ({}, {"source": catalog_table(id="created-again")}),
        ({}, {"source": catalog_table(location="memory://lake/moved")}),
        ({}, {"shared": shared_table(start_version=3)}),
        ({}, {"shared": shared_table(history=True)}),
        ({}, {"shared": FILTERED}),
        ({"shared": FILTERED}, {"shared": SHARED}),
        (
            {"shared": FILTERED},
            {"shared": shared_table(partition_filter="country = 'DE'")},
        ),
        (
            {
                "shared": FILTERED,
                "principal": NORTH,
            },
            {
                "shared": FILTERED,
                "principal": SOUTH,
            },
        ),
        (
            {
                "shared": FILTERED,
                "principal": NORTH,
            },
            {"shared": FILTERED, "principal": ACME},
        ),
    ],
)
def test_a_path_is_not_accepted_elsewhere(issued_to: dict[str, Any], sent_by: dict[str, Any]) -> None:
    key = key_of("a.parquet", **issued_to)
    assert verify(key, **issued_to).path == "a.parquet"
    with pytest.raises(PermissionDenied, match="load the table again"):
        verify(key, **sent_by)


def test_every_attribute_of_a_share_is_known_to_limit_a_view_or_not() -> None:
    limits = {"id", "share_id", "ref", "start_version", "history", "partition_filter"}
    names = {"share", "schema", "name", "catalog", "identifier", "comment"}
    checked_by_each_request = {"access_modes", "change_feed", "tags"}
    known = limits | names | checked_by_each_request
    assert {field.name for field in fields(SharedTable)} == known


def test_what_does_not_limit_the_view_leaves_paths_valid() -> None:
    key = key_of("a", principal=NORTH)
    moved = replace(ACME, properties={"region": "s"}, address="192.0.2.99", name="acme-2")
    shared = replace(SHARED, comment="new", name="renamed", change_feed=True, tags={"a": "b"})
    assert verify(key, moved, shared).path == "a"


def test_a_proof_is_not_accepted_for_other_paths_versions_and_times() -> None:
    table, proof, _ = key_of("a/b.parquet").split("/", 2)
    version, issued, tag = proof.split("-", 2)
    verify(f"{table}/{proof}/a/b.parquet")
    other = location_of(shared_table("visits")).removeprefix(START)
    with pytest.raises(PermissionDenied):
        verify(f"{other}/{proof}/a/b.parquet")
    for changed in (
        f"{proof}/a/c.parquet",
        f"{proof}/a/b.parquet/",
        f"{proof}/a",
        f"{proof}/A/b.parquet",
        f"8-{issued}-{tag}/a/b.parquet",
        f"07-{issued}-{tag}/a/b.parquet",
        f"{version}-{ISSUED + 100}-{tag}/a/b.parquet",
        f"{version}-0{issued}-{tag}/a/b.parquet",
        f"{version}-{issued}-{'A' * 24}/a/b.parquet",
        f"{version}-{issued}-/a/b.parquet",
        f"{version}{issued}-{tag}/a/b.parquet",
    ):
        with pytest.raises(PermissionDenied):
            verify(f"{table}/{changed}")


def test_all_paths_of_a_table_begin_with_its_location() -> None:
    for shared in (SHARED, shared_table("visits"), replace(SHARED, share_id="s2")):
        [path] = paths_at().of_view(ACME, shared, SOURCE, 7).of(["a"])
        assert path.startswith(location_of(shared) + "/")
    assert len({location_of(shared_table(name)) for name in ("orders", "orders2", "visits")}) == 3


def test_version_and_time_do_not_run_into_the_path() -> None:
    (first,) = paths_at().of_view(ACME, SHARED, SOURCE, 7, 12).of(["3\nx"])
    (second,) = paths_at().of_view(ACME, SHARED, SOURCE, 7, 1).of(["2\n3\nx"])
    assert first.split("/")[4].rpartition("-")[2] != second.split("/")[4].rpartition("-")[2]


def test_no_byte_of_a_key_can_be_changed() -> None:
    key = key_of("date=2024-01-01/part 1%.parquet")
    generator = random.Random(50)
    others = "".join(chr(code) for code in range(33, 127)) + "\n\0é\u0661\udcff"
    for at in range(len(key)):
        for other in {generator.choice(others) for _ in range(12)} | {key[at].swapcase()} - {key[at]}:
            if other == key[at]:
                continue
            changed = key[:at] + other + key[at + 1 :]
            with pytest.raises(PermissionDenied):
                verify(changed)
        with pytest.raises(PermissionDenied):
            verify(key[:at] + key[at + 1 :])


def test_arbitrary_keys_are_refused() -> None:
    generator = random.Random(51)
    characters = "0123456789-_abAB/.%~\n\0é\udc80"
    for _ in range(5000):
        key = "".join(generator.choice(characters) for _ in range(generator.randint(0, 60)))
        with pytest.raises(PermissionDenied):
            verify(key)


def test_keys_rotate() -> None:
    old, new = KeyRing((b"o" * 32,)), KeyRing((b"n" * 32, b"o" * 32))
    (issued,) = paths_at(keys=old).of_view(ACME, SHARED, SOURCE, 1).of(["a"])
    key = issued.removeprefix(START)
    assert paths_at(keys=new).verify(ACME, SHARED, SOURCE, key).path == "a"
    with pytest.raises(PermissionDenied):
        paths_at(keys=KeyRing((b"n" * 32,))).verify(ACME, SHARED, SOURCE, key)
    (signed_by_new,) = paths_at(keys=new).of_view(ACME, SHARED, SOURCE, 1).of(["a"])
    assert signed_by_new != issued


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
