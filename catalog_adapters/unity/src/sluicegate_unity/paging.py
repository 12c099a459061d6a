"""Reads listings page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from sluicegate_unity.client import UnityClient

_PAGE: Final = "100"  # the catalog's maximum
_MOST_PAGES: Final = 10_000
_MOST_ENTRIES: Final = 1_000_000
_LONGEST_TOKEN: Final = 8192  # characters; URLs can't contain longer ones
_MISSING: Final = object()


async def page_of(
    client: UnityClient,
    path: str,
    key: str,
    query: Mapping[str, str],
    token: str | None,
) -> tuple[list[Mapping[str, Any]], str | None]:
    """Return the entries of one page, and the token of the next; `None` after the last.

    Any page can be empty: the catalog removes entries that the gateway can't see after it has built a
    page.
    """
    at = {} if token is None else {"page_token": token}
    answer = await client.get(path, {"max_results": _PAGE, **query, **at})
    entries, following = answer.get(key, _MISSING), answer.get("next_page_token") or None
    if entries is None:
        entries = []
    if not isinstance(entries, list) or not isinstance(following, str | None):
        raise client.unavailable(f"{path}: the response is not a page of {key}")
    if len(following or "") > _LONGEST_TOKEN:
        raise client.unavailable(f"{path}: the next page's token has {len(following or '')} characters")
    return [entry for entry in entries if isinstance(entry, dict)], following


async def listed(
    client: UnityClient, path: str, key: str, query: Mapping[str, str] | None = None
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the entries of a listing, page by page, until a token is missing. See `page_of`."""
    seen: set[str] = set()
    left = _MOST_ENTRIES
    token: str | None = None
    while True:
        entries, token = await page_of(client, path, key, query or {}, token)
        for entry in entries:
            yield entry
        if token is None:
            return
        left -= len(entries)
        if token in seen or len(seen) >= _MOST_PAGES or left < 0:
            raise client.unavailable(f"{path}: the listing never ends")
        seen.add(token)
