"""Links to derived files: what they contain, and what their signature covers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from support.gateways.memory_gateway import KEYS, PUBLIC_URL, memory_gateway, shared_table
from support.gateways.memory_grants import ACME

from sluicegate.api.errors import PermissionDenied
from sluicegate.protocols.derived_files import (
    SPACE,
    DerivedLink,
    DerivedLinks,
    link_keys,
)
from sluicegate.protocols.file_links import verify
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.derived_files import DerivedFile

FILE = DerivedFile.of(b"rows", 'ü "recipe"/../?#')
LINK = DerivedLink("r1", "acme", "sales", "eu", "örders", FILE.digest, FILE.recipe)


def test_a_link_survives_its_path() -> None:
    assert DerivedLink.parse(LINK.path) == LINK
    assert LINK.file == FILE


@pytest.mark.parametrize("recipe", ["a", "ab", "abc", "abcd"])
def test_a_path_has_no_character_that_a_url_would_change(recipe: str) -> None:
    path = DerivedLink("r1", "acme", "s", "e", "t", FILE.digest, recipe).path
    assert set(path) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert DerivedLink.parse(path).recipe == recipe


async def test_a_link_names_the_table_as_it_is_shared() -> None:
    table = await memory_gateway().open(shared_table())
    assert DerivedLink.of(table, FILE) == DerivedLink(
        ACME.id, "acme", "sales", "eu", "orders", FILE.digest, FILE.recipe
    )


async def test_links_are_signed_in_their_order_and_expire() -> None:
    table = await memory_gateway().open(shared_table())
    files = [DerivedFile.of(content, "r") for content in (b"1", b"2")]
    signed = DerivedLinks(KEYS, f"{PUBLIC_URL}/").sign(table, files, 60)
    for url, file in zip(signed.urls, files, strict=True):
        parts = urlsplit(url)
        path = DerivedLink.of(table, file).path
        assert (f"{parts.scheme}://{parts.netloc}", parts.path) == (
            PUBLIC_URL,
            f"/content/{SPACE}/{path}",
        )
        verify(link_keys(KEYS), SPACE, path, parts.query, signed.expires_at / 1000 - 0.1)
        with pytest.raises(PermissionDenied, match="expired"):
            verify(link_keys(KEYS), SPACE, path, parts.query, signed.expires_at / 1000)


async def test_the_keys_of_these_links_sign_no_others() -> None:
    table = await memory_gateway().open(shared_table())
    (url,) = DerivedLinks(KEYS, PUBLIC_URL).sign(table, [FILE], 60).urls
    path, query = DerivedLink.of(table, FILE).path, urlsplit(url).query
    for keys, space in ((KEYS, SPACE), (KEYS.derive("file links"), SPACE), (link_keys(KEYS), "lake")):
        with pytest.raises(PermissionDenied, match="not valid"):
            verify(keys, space, path, query, 0)


def test_links_of_a_previous_key_stay_valid() -> None:
    rotated = KeyRing((b"n" * 32, *KEYS.keys))
    assert link_keys(rotated).keys[1:] == link_keys(KEYS).keys
