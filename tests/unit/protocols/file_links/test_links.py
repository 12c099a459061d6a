from __future__ import annotations

from urllib.parse import quote, unquote, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api.errors import PermissionDenied
from sluicegate.protocols.file_links.links import ContentLinks, verify
from sluicegate.signing.keyring import KeyRing

KEY = b"\x07" * 32
KEYS = KeyRing((KEY,))
ISSUED = 1_700_000_000  # 2023-11-14T22:13:20Z
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def sign(*paths: str, expires_in: int = 600, storage: str = "lake") -> list[str]:
    links = ContentLinks(KEY, "https://gateway.example/sharing/", storage, lambda: ISSUED + 0.9)
    return links.sign(paths, expires_in).urls


def query(**changes: str | None) -> str:
    parts = dict(pair.split("=") for pair in urlsplit(sign("eu/part-0.parquet")[0]).query.split("&"))
    parts |= {f"X-Amz-{name}": value for name, value in changes.items() if value is not None}
    return urlencode([pair for pair in parts.items() if changes.get(pair[0][6:], "") is not None])


def test_a_link_has_the_shape_that_clients_take_for_presigned() -> None:
    (url,) = sign("eu/orders/day=2024-01-01/part 0#1.parquet")
    base, _, signature = url.rpartition("=")
    assert base == (
        "https://gateway.example/sharing/content/lake/eu/orders/day=2024-01-01/part%200%231.parquet"
        "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20231114T221320Z&X-Amz-Expires=600&X-Amz-Signature"
    )
    assert len(signature) == 64


def test_links_come_in_the_requested_order_and_expire_together() -> None:
    links = ContentLinks(KEY, "https://gateway.example", "lake", lambda: ISSUED + 0.9)
    signed = links.sign(["b", "a", "b"], 60)
    assert [urlsplit(url).path for url in signed.urls] == [f"/content/lake/{name}" for name in "bab"]
    assert signed.expires_at == (ISSUED + 60) * 1000


def test_no_link_is_shown_by_repr() -> None:
    signed = ContentLinks(KEY, "https://gateway.example", "lake").sign(["a"], 60)
    assert "Signature" not in repr(signed)


@given(PATHS)
def test_every_path_is_quoted_so_that_it_comes_back(path: str) -> None:
    (url,) = sign(path)
    split = urlsplit(url)
    assert split.path == "/sharing/content/lake/" + quote(path, safe="/=")
    verify(
        KEYS, "lake", unquote(split.path).removeprefix("/sharing/content/lake/"), split.query, ISSUED
    )


@pytest.mark.parametrize("later", [0, 1, 599.9])
def test_a_link_is_good_until_it_expires(later: float) -> None:
    verify(KEYS, "lake", "eu/part-0.parquet", query(), ISSUED + later)


@pytest.mark.parametrize("later", [600, 600.5, 86_400])
def test_an_expired_link_says_so(later: float) -> None:
    with pytest.raises(PermissionDenied, match="expired"):
        verify(KEYS, "lake", "eu/part-0.parquet", query(), ISSUED + later)


@pytest.mark.parametrize(
    "changed",
    [
        query(Expires="601"),
        query(Expires="0600"),
        query(Expires="-1"),
        query(Expires="\uff16\uff10\uff10"),
        query(Expires=""),
        query(Expires=None),
        query(Date="20231114T221321Z"),
        query(Date="20231114"),
        query(Date=None),
        query(Algorithm="AWS4-HMAC-SHA512"),
        query(Algorithm=None),
        query(Signature="0" * 64),
        query(Signature=""),
        query(Signature=None),
        query(Signature=query()[-64:].upper()),
        query(Signature=query()[-64:-1]),
        query(Signature=query()[-64:] + "0"),
        query() + "&X-Amz-Expires=9999",
        "X-Amz-Expires=9999&" + query(),
        query() + "&versionId=1",
        query().replace("X-Amz", "x-amz"),
        "",
        "X-Amz-Signature",
    ],
)
def test_a_changed_query_is_refused(changed: str) -> None:
    with pytest.raises(PermissionDenied, match="not valid"):
        verify(KEYS, "lake", "eu/part-0.parquet", changed, ISSUED)


@pytest.mark.parametrize(
    ("keys", "storage", "path"),
    [
        (KEYS, "lake", "eu/part-1.parquet"),
        (KEYS, "lake", "eu/part-0.parquet/"),
        (KEYS, "lake", "/eu/part-0.parquet"),
        (KEYS, "lake", "eu//part-0.parquet"),
        (KEYS, "lake", "eu/./part-0.parquet"),
        (KEYS, "lake", "EU/part-0.parquet"),
        (KEYS, "lake", ""),
        (KEYS, "pond", "eu/part-0.parquet"),
        (KEYS, "lake/eu", "part-0.parquet"),
        (KeyRing((b"\x08" * 32,)), "lake", "eu/part-0.parquet"),
    ],
)
def test_a_link_is_good_for_one_object_of_one_storage_and_one_gateway(
    keys: KeyRing, storage: str, path: str
) -> None:
    with pytest.raises(PermissionDenied, match="not valid"):
        verify(keys, storage, path, query(), ISSUED)


def test_a_link_that_a_previous_key_signed_is_good() -> None:
    verify(KeyRing((b"\x08" * 32, KEY)), "lake", "eu/part-0.parquet", query(), ISSUED)


def test_a_path_cannot_pose_as_another_links_lifetime() -> None:
    (url,) = sign("20991231T000000Z\n600\nsecret", expires_in=1)
    signature = url[-64:]
    forged = query(Expires="600", Date="20991231T000000Z", Signature=signature)
    for storage in ("lake", "lake\n20231114T221320Z\n1", "lake%0A20231114T221320Z%0A1"):
        with pytest.raises(PermissionDenied, match="not valid"):
            verify(KEYS, storage, "secret", forged, ISSUED)
