"""The requests of commands, which are those of the Admin API (docs/adr/0069)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from sluicegate.api.errors import InvalidRequest, Unavailable

Query = Sequence[tuple[str, str]]
Content = dict[str, Any]

_MOST_RESULTS = 500
_MOST_PAGES = 20_000


@dataclass(frozen=True, slots=True)
class ManagedAnswer:
    """A successful response.

    Attributes:
        content: Its JSON; `None` without a body.
    """

    content: Any = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Target(Protocol):
    """What a command manages. An instance belongs to one event loop."""

    @property
    def has_admin_api(self) -> bool:
        """Whether administrators can use the Admin API of the gateway."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        match: str | None = None,
    ) -> ManagedAnswer:
        """Send a request of the Admin API."""


def path_of(template: str, *names: str) -> str:
    """A path with names, which are encoded, in the places of `{}`."""
    for name in names:
        if not name or "/" in name:
            raise InvalidRequest(f"'{name}' is not a name: it must not be empty or contain a slash")
    return template.format(*map(_segment, names))


def _segment(name: str) -> str:
    # Proxies and clients interpret segments of only periods.
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


async def get(target: Target, path: str, query: Query = ()) -> Content:
    """The content of a resource."""
    return dict((await target.send("GET", path, query=query)).content)


async def items(
    target: Target, path: str, query: Query = (), *, limit: int | None = None
) -> list[Content]:
    """The items of a listing, from all of its pages."""
    return [each async for page in pages(target, path, query, limit=limit) for each in page["items"]]


async def pages(
    target: Target, path: str, query: Query = (), *, limit: int | None = None
) -> AsyncIterator[Content]:
    """The pages of a listing, until there are `limit` items."""
    more: Query = ()
    left = limit
    for _ in range(_MOST_PAGES):
        if left is not None and left <= 0:
            return
        size = _MOST_RESULTS if left is None else min(left, _MOST_RESULTS)
        page = await get(target, path, [*query, ("maxResults", str(size)), *more])
        yield page
        if "nextPageToken" not in page:
            return
        left = None if left is None else left - len(page["items"])
        following = [("pageToken", page["nextPageToken"])]
        if following == more:
            break
        more = following
    raise Unavailable(f"the listing {path} does not end")


def flags(**values: bool) -> list[tuple[str, str]]:
    """Parameters for the values that are true."""
    return [(name, "true") for name, value in values.items() if value]


def given(**values: object) -> list[tuple[str, str]]:
    """Parameters for the values that are not `None`."""
    return [(name, str(value)) for name, value in values.items() if value is not None]
