"""What every object storage shares: keys below a prefix, lifetimes of signatures, pools of stores."""

from __future__ import annotations

import pytest

from sluicegate.api import (
    InvalidRequest,
    ObjectKeys,
    ObjectStores,
    PermissionDenied,
    StorageError,
    TableUnreadable,
    batches,
    quote_keys,
    signed_lifetime,
)

KEYS = ObjectKeys("s3://lake/sales/", "s3://lake/", lambda location: location.replace("s3a:", "s3:"))


def test_a_bucket_has_an_empty_key() -> None:
    bucket = ObjectKeys("s3://lake/", "s3://lake/", str)
    assert bucket.of_directory("s3://lake") == ""
    assert bucket.has_directory("s3://lake/")


def test_keys_are_what_follows_the_bucket_in_any_spelling() -> None:
    assert KEYS.of(["s3://lake/sales/a b", "s3a://lake/sales/c"]) == ["sales/a b", "sales/c"]
    assert KEYS.of_directory("s3://lake/sales/") == "sales"


@pytest.mark.parametrize("location", ["s3://lake/sales2/a", "s3://other/sales/a", "sales/a"])
def test_what_lies_outside_has_no_key(location: str) -> None:
    with pytest.raises(PermissionDenied):
        KEYS.of(["s3://lake/sales/a", location])
    assert not KEYS.has_directory(location)


@pytest.mark.parametrize("name", ["a//b", "./a", "..", "a\nb", "\ud800"])
def test_a_directory_that_no_listing_can_name_is_refused(name: str) -> None:
    with pytest.raises(TableUnreadable):
        KEYS.of_directory(f"s3://lake/sales/{name}")


def test_a_key_without_a_utf8_form_is_no_file() -> None:
    with pytest.raises(TableUnreadable, match="no valid Unicode"):
        quote_keys(["a", "\ud800"])


@pytest.mark.parametrize(
    ("wanted", "ends_at", "expected"),
    [(60, None, 60), (900, None, 600), (60, 130_999, 30), (60, 900_000, 60)],
)
def test_a_signature_lives_no_longer_than_what_signs(
    wanted: int, ends_at: int | None, expected: int
) -> None:
    assert signed_lifetime(100, wanted, 600, ends_at) == expected


def test_nothing_is_signed_for_less_than_a_second_or_by_what_has_ended() -> None:
    with pytest.raises(InvalidRequest):
        signed_lifetime(100, 0, 600)
    with pytest.raises(StorageError):
        signed_lifetime(100, 60, 600, 100_999)


async def test_batches_are_all_keys_in_their_order() -> None:
    keys = [str(number) for number in range(2500)]
    assert [key async for some in batches(keys) for key in some] == keys


class _Stores(ObjectStores[str, list[str]]):
    def _make_own(self) -> list[str]:
        return ["own"]

    def _make_vended(self, given: str) -> list[str]:
        return [given]


def test_stores_are_kept_but_not_without_bound() -> None:
    stores = _Stores()
    own, first = stores.own(), stores.vended("0")
    assert stores.own() is own
    assert stores.vended("0") is first
    for number in range(1, 65):
        stores.vended(str(number))
    assert stores.vended("0") is not first
