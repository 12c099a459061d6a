"""Pagination of listings with signed tokens, stable while names are added and removed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sluicegate.api import Principal
from sluicegate.protocols.common.parameters import MAX_RESULTS, integer, text
from sluicegate.signing.opaque_tokens import TokenSigner

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`maxResults` and `pageToken` of a listing, and what its tokens are bound to."""

    max_results: int
    token: str | None
    bound_to: str

    @classmethod
    def parse(cls, query: Mapping[str, str], principal: Principal, listing: str) -> PageRequest:
        """Read the parameters (Delta Sharing protocol, "List Shares")."""
        max_results = integer("maxResults", query.get("maxResults"), high=MAX_RESULTS)
        return cls(
            max_results=MAX_RESULTS if max_results is None else max_results,
            token=text("pageToken", query.get("pageToken")),
            bound_to=f"{principal.id}\n{listing}",
        )


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The items of one page, and the token of the next page."""

    items: Sequence[T]
    next_token: str | None

    def shown(self, show: Callable[[T], dict[str, Any]]) -> dict[str, Any]:
        """The response body."""
        answer: dict[str, Any] = {"items": [show(item) for item in self.items]}
        if self.next_token is not None:
            answer["nextPageToken"] = self.next_token
        return answer


def page(
    items: Sequence[T], key: Callable[[T], str], request: PageRequest, tokens: TokenSigner
) -> Page[T]:
    """One page of items that are sorted by `key`.

    A page starts after the last key of the previous one.
    """
    start = 0
    if request.token is not None:
        state = tokens.verify(request.token, bound_to=request.bound_to, parameter="pageToken")
        start = bisect_right(items, state["after"], key=key) if state["after"] is not None else 0
    end = start + request.max_results
    following = None
    if end < len(items):
        last = key(items[end - 1]) if end else None
        following = tokens.sign({"after": last}, bound_to=request.bound_to)
    return Page(items[start:end], following)


async def read_page(
    read: Callable[[str | None, int], Awaitable[Sequence[T]]],
    key: Callable[[T], str],
    request: PageRequest,
    tokens: TokenSigner,
) -> Page[T]:
    """One page of items that are read in parts; see `page`."""
    after = None
    if request.token is not None:
        after = tokens.verify(request.token, bound_to=request.bound_to, parameter="pageToken")["after"]
    found = await read(after, request.max_results + 1)
    items, following = found[: request.max_results], None
    if len(found) > len(items):
        last = key(items[-1]) if items else after
        following = tokens.sign({"after": last}, bound_to=request.bound_to)
    return Page(items, following)
