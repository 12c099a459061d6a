"""Pages of listings: stable while names come and go, with signed tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sluicegate.api import Principal
from sluicegate.sharing.parameters import MAX_RESULTS, integer, text
from sluicegate.sharing.tokens import TokenSigner

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`maxResults` and `pageToken` of a listing, and what its tokens are bound to."""

    max_results: int
    token: str | None
    bound_to: str

    @classmethod
    def parse(cls, query: Mapping[str, str], principal: Principal, listing: str) -> PageRequest:
        """Read the parameters (delta-sharing-protocol.md, "List Shares").

        Raises:
            InvalidRequest: `maxResults` is no number from 0 to 500.
        """
        asked = integer("maxResults", query.get("maxResults"), high=MAX_RESULTS)
        return cls(
            max_results=MAX_RESULTS if asked is None else asked,
            token=text("pageToken", query.get("pageToken")),
            bound_to=f"{principal.id}\n{listing}",
        )


def page(
    items: Sequence[T],
    key: Callable[[T], str],
    show: Callable[[T], dict[str, Any]],
    request: PageRequest,
    tokens: TokenSigner,
) -> dict[str, Any]:
    """One page of items that are sorted by `key`; a page goes on behind the last key that was seen.

    Raises:
        InvalidRequest: The page token is not one of this listing and recipient, or has expired.
    """
    start = 0
    if request.token is not None:
        state = tokens.verify(request.token, bound_to=request.bound_to, parameter="pageToken")
        start = bisect_right(items, state["after"], key=key) if state["after"] is not None else 0
    end = start + request.max_results
    answer: dict[str, Any] = {"items": [show(item) for item in items[start:end]]}
    if end < len(items):
        last = key(items[end - 1]) if end else None
        answer["nextPageToken"] = tokens.sign({"after": last}, bound_to=request.bound_to)
    return answer
