import pytest

from sluicegate.api import Principal
from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.common.pagination import Page, PageRequest, page
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

TOKENS = TokenSigner(KeyRing((b"a key",)), lifetime=60, clock=lambda: 0.0)
ACME = Principal("r1", "acme", "bearer")
NAMES = ["a", "b", "c", "d", "e"]


def listed(items: list[str], *, principal: Principal = ACME, **query: str) -> Page[str]:
    request = PageRequest.parse(query, principal, "shares")
    return page(items, str, request, TOKENS)


def token_after(items: list[str], size: str) -> str:
    token = listed(items, maxResults=size).next_token
    assert token is not None
    return token


def test_pages_together_are_the_listing() -> None:
    first = listed(NAMES, maxResults="3")
    assert first.next_token is not None
    second = listed(NAMES, maxResults="3", pageToken=first.next_token)
    assert ([*first.items], [*second.items]) == (["a", "b", "c"], ["d", "e"])
    assert second.next_token is None


def test_a_full_last_page_has_no_token() -> None:
    assert listed(NAMES, maxResults="5").next_token is None


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (["a", "c", "d"], ["c", "d"]),
        (["a", "aa", "b", "bb", "c"], ["bb", "c"]),
        (["a"], []),
    ],
)
def test_a_page_starts_after_the_last_name_whatever_changed(
    now: list[str], expected: list[str]
) -> None:
    assert [*listed(now, pageToken=token_after(NAMES, "2")).items] == expected


def test_an_empty_page_can_be_requested_and_continued() -> None:
    empty = listed(NAMES, maxResults="0")
    assert [*empty.items] == []
    assert [*listed(NAMES, pageToken=token_after(NAMES, "0")).items] == NAMES


def test_without_a_size_a_page_has_500_items() -> None:
    names = [f"{number:04}" for number in range(501)]
    assert len(listed(names).items) == 500


@pytest.mark.parametrize("size", ["-1", "501", "many"])
def test_a_size_that_is_not_valid_is_rejected(size: str) -> None:
    with pytest.raises(InvalidRequest, match="maxResults"):
        listed(NAMES, maxResults=size)


def test_a_token_of_another_recipient_is_rejected() -> None:
    with pytest.raises(InvalidRequest, match="pageToken"):
        listed(NAMES, principal=Principal("r2", "acme", "bearer"), pageToken=token_after(NAMES, "1"))


def test_the_body_names_the_next_page_only_if_there_is_one() -> None:
    assert Page(["a"], None).shown(lambda name: {"name": name}) == {"items": [{"name": "a"}]}
    assert Page(["a"], "t").shown(lambda name: {"name": name})["nextPageToken"] == "t"
