"""What the bounded mapping keeps and forgets."""

from __future__ import annotations

import pytest

from sluicegate._util import lru
from sluicegate._util.lru import LRU, cached_by_text


def _kept(cache: LRU[str, str], names: str) -> str:
    return "".join(name for name in names if cache.get(name))


def test_the_longest_unused_is_forgotten_first() -> None:
    cache = LRU[str, str](3)
    for name in "abc":
        cache.put(name, name)
    cache.get("a")
    cache.put("d", "d")
    assert _kept(cache, "abcd") == "acd"
    assert (len(cache), cache.weight) == (3, 3)


def test_weights_count_and_a_replacement_gives_its_weight_back() -> None:
    cache = LRU[str, str](10, weigh=len)
    cache.put("a", "aaaaaa")
    cache.put("b", "bbbb")
    cache.put("a", "aa")
    cache.put("c", "cccc")
    assert (_kept(cache, "acb"), cache.weight) == ("acb", 10)
    cache.put("d", "d")
    assert (_kept(cache, "abcd"), cache.weight) == ("bcd", 9)


def test_what_is_too_heavy_is_not_kept_and_replaces_nothing_else() -> None:
    cache = LRU[str, str](3, weigh=len)
    cache.put("a", "a")
    cache.put("b", "bbbb")
    assert _kept(cache, "ab") == "a"
    cache.put("a", "aaaa")
    assert (_kept(cache, "ab"), cache.weight) == ("", 0)


def test_clearing_makes_room() -> None:
    cache = LRU[str, str](2, weigh=len)
    cache.put("a", "aa")
    cache.clear()
    cache.put("b", "bb")
    assert _kept(cache, "ab") == "b"


def test_unwanted_values_are_removed_with_their_weight() -> None:
    kept: LRU[str, int] = LRU(10, lambda value: value)
    for name, value in (("a", 1), ("b", 2), ("c", 3)):
        kept.put(name, value)
    kept.discard(lambda value: value != 2)
    assert [kept.get(name) for name in "abc"] == [None, 2, None]
    assert kept.weight == 2


def test_results_are_cached_up_to_a_number_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lru, "_CHARACTERS", 10)
    called: list[str] = []

    @cached_by_text
    def length(text: str, others: tuple[str, ...] = ()) -> int | None:
        called.append(text)
        return len(text) or None

    assert [length("abc"), length("abc"), length("", ("d",)), length("", ("d",))] == [3, 3, None, None]
    assert called == ["abc", ""]
    length("abc", ("longer",))
    length("abc")  # the heavier result replaced it
    assert called == ["abc", "", "abc", "abc"]
    assert [length("abcdefghijk"), length("abcdefghijk")] == [11, 11]  # too long
    assert called[4:] == ["abcdefghijk", "abcdefghijk"]
