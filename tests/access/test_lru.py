"""What the bounded cache keeps and forgets."""

from __future__ import annotations

from sluicegate.access.lru import LRU


def _kept(cache: LRU[str, str], names: str) -> str:
    return "".join(name for name in names if cache.get(name))


def test_the_longest_unused_is_forgotten_first() -> None:
    cache = LRU[str, str](3)
    for name in "abc":
        cache.put(name, name)
    cache.get("a")
    cache.put("d", "d")
    assert _kept(cache, "abcd") == "acd"


def test_weights_count_and_a_replacement_gives_its_weight_back() -> None:
    cache = LRU[str, str](10)
    cache.put("a", "a", 6)
    cache.put("b", "b", 4)
    cache.put("a", "A", 2)
    cache.put("c", "c", 4)
    assert _kept(cache, "acb") == "acb"
    cache.put("d", "d", 1)
    assert _kept(cache, "abcd") == "bcd"


def test_what_is_too_heavy_is_not_kept_and_replaces_nothing_else() -> None:
    cache = LRU[str, str](3)
    cache.put("a", "a")
    cache.put("b", "b", 4)
    assert _kept(cache, "ab") == "a"
    cache.put("a", "A", 4)
    assert _kept(cache, "ab") == ""


def test_clearing_makes_room() -> None:
    cache = LRU[str, str](2)
    cache.put("a", "a", 2)
    cache.clear()
    cache.put("b", "b", 2)
    assert _kept(cache, "ab") == "b"
