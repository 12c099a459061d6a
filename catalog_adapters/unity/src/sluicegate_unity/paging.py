"""Listings, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from sluicegate_unity.client import UnityClient

_PAGE: Final = "100"  # the most that the catalog gives at once
_MOST_PAGES: Final = 10_000
_MOST_ENTRIES: Final = 1_000_000
_LONGEST_TOKEN: Final = 8192  # characters: URLs cannot carry longer ones
_MISSING: Final = object()


async def listed(
    client: UnityClient, path: str, key: str, query: Mapping[str, str] | None = None
) -> AsyncIterator[Mapping[str, Any]]:
    """The entries of a listing.

    Pages can be empty, in the middle too: the catalog takes what the gateway may not see out of pages
    that it has made. Only an absent token ends a listing.

    Args:
        client: Asks the catalog.
        path: The route.
        key: What the answer names the entries.
        query: Further parameters.

    Raises:
        Refused: The catalog answers with an error.
        Unavailable: It does not answer, or not with an end.
    """
    wanted = {"max_results": _PAGE, **(query or {})}
    seen: set[str] = set()
    left = _MOST_ENTRIES
    while True:
        answer = await client.get(path, wanted)
        entries, token = answer.get(key, _MISSING) or [], answer.get("next_page_token") or None
        if not isinstance(entries, list) or not isinstance(token, str | None):
            raise client.unavailable(f"{path}: the answer is no page of {key}")
        if (left := left - len(entries)) < 0 or len(token or "") > _LONGEST_TOKEN:
            raise client.unavailable(f"{path}: the listing has no end")
        for entry in entries:
            if isinstance(entry, dict):
                yield entry
        if token is None:
            return
        if token in seen or len(seen) >= _MOST_PAGES:
            raise client.unavailable(f"{path}: the listing has no end")
        seen.add(token)
        wanted["page_token"] = token
