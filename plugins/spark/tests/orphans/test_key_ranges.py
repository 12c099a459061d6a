"""Ranges of keys contain each key once, however the store sorts them, and end up small."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable

import pytest

from sluicegate_spark.orphans.key_ranges import KeyRange, divided

Order = Callable[[str], list[bytes]]
FLAT = [f"t/data/00000-{number}-a.parquet" for number in range(3_000)]
PARTITIONS = [
    f"t/data/day=2026-{n // 28 + 1:02}-{n % 28 + 1:02}/f{i}" for n in range(200) for i in (1, 2)
]
HASHES = [f"t/data/{n * 2654435761 % 2**20:020b}/f.parquet" for n in range(2_000)]
ODD = ["t/a-b", "t/a/x", "t/a/y z", "t/a.p", "t/a%20b", "t/a", "t/\U0001f600/1", "t/é", "t/~", "t/#"]


def by_key(key: str) -> list[bytes]:
    """As S3 sorts keys."""
    return [key.encode()]


def by_directory(key: str) -> list[bytes]:
    """As SeaweedFS sorts keys."""
    return key.encode().split(b"/")


class Store:
    """Keys in a store's order, and the number of requests for them."""

    def __init__(self, keys: list[str], order: Order) -> None:
        self._order = order
        self.keys = sorted(keys, key=order)
        self._places = [order(key) for key in self.keys]
        self.requests = 0

    def first_after(self, offset: str) -> str | None:
        self.requests += 1
        return next(iter(self.after(offset)), None)

    def after(self, offset: str) -> list[str]:
        start = bisect_right(self._places, self._order(offset)) if offset else 0
        return self.keys[start:]


def listed(store: Store, most: int) -> tuple[list[str], int]:
    """List all keys, at most so many of a range before it is divided; the number of listings."""
    found: list[str] = []
    left, listings = [KeyRange()], 0
    while left:
        keys = left.pop()
        listings += 1
        own = []
        for key in store.after(keys.after):
            if keys.ends_before(key):
                break
            own.append(key)
            if len(own) == most:
                rest = KeyRange(key, keys.until, keys.divisible)
                left += divided(rest, store.first_after) if rest.divisible else [rest]
                break
        found += own
    return found, listings


@pytest.mark.parametrize("order", [by_key, by_directory])
@pytest.mark.parametrize(
    "keys", [FLAT, PARTITIONS, HASHES, ODD, FLAT + PARTITIONS + ODD, ["t/one"], []]
)
@pytest.mark.parametrize("most", [1, 7, 500])
def test_each_key_is_in_one_range(keys: list[str], order: Order, most: int) -> None:
    found, _ = listed(Store(keys, order), most)
    assert sorted(found) == sorted(keys)


@pytest.mark.parametrize("order", [by_key, by_directory])
def test_each_of_random_keys_is_in_one_range(order: Order) -> None:
    dice = random.Random(79)
    for _ in range(200):
        parts = ("".join(dice.choices("a-./%é~b", k=dice.randint(1, 6))).strip("/") for _ in range(30))
        keys = sorted({f"t/{each}" for each in parts if each and "//" not in each})
        found, _ = listed(Store(keys, order), dice.randint(1, 4))
        assert sorted(found) == keys


@pytest.mark.parametrize("keys", [FLAT, PARTITIONS, HASHES])
def test_ranges_soon_divide_a_directory_between_many_tasks(keys: list[str]) -> None:
    """As long as there are few ranges, each is divided after a few files."""
    store = Store(keys, by_key)
    left, rounds = [KeyRange()], 0
    while len(left) < 8:
        following = []
        for each in left:
            begun = KeyRange(store.after(each.after)[0], each.until)
            following += divided(begun, store.first_after)
        left, rounds = following, rounds + 1
    assert rounds <= 3
    sizes = [sum(not each.ends_before(key) for key in store.after(each.after)) for each in left]
    assert max(sizes) < len(keys) / 2


def test_a_range_is_divided_with_few_requests() -> None:
    store = Store(FLAT, by_key)
    parts = divided(KeyRange(), store.first_after)
    assert len(parts) == 10
    assert store.requests <= 20


def test_a_range_of_very_different_keys_has_a_limited_number_of_parts() -> None:
    store = Store([f"t/{chr(0x4E00 + number)}" for number in range(5_000)], by_key)
    parts = divided(KeyRange(), store.first_after)
    assert len(parts) == 64
    assert parts[-1].until == ""


def test_nothing_is_left_of_a_listed_range() -> None:
    assert (
        divided(KeyRange("t/data/5", "t/data/6"), Store(["t/data/4", "t/data/7"], by_key).first_after)
        == []
    )
