"""Pages of listings, with links to the pages before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sluicegate.admin.console.call import ConsoleCall

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class PagedList(Generic[T]):
    """A page of a listing.

    Attributes:
        number: The number of this page, from 1.
        previous: Address of the page before, or `None`.
        next: Address of the page after, or `None`.
    """

    items: Sequence[T]
    number: int
    count: int
    total: int
    previous: str | None
    next: str | None

    def of(self, items: Sequence[U]) -> PagedList[U]:
        """The same page with the items at its positions."""
        return PagedList(items, self.number, self.count, self.total, self.previous, self.next)


def listing(call: ConsoleCall, items: Sequence[T], size: int, *names: str) -> PagedList[T]:
    """The page of a listing that the query parameter `page` selects."""
    count = max(1, -(-len(items) // size))
    wanted = call.query("page")
    number = min(int(wanted), count) if wanted.isascii() and wanted.isdecimal() else 1
    number = max(number, 1)
    others = {name: value for name, value in call.parameters.items() if name != "page"}

    def link(page: int) -> str:
        return call.url(*names, **others, page=page)

    return PagedList(
        items=items[(number - 1) * size : number * size],
        number=number,
        count=count,
        total=len(items),
        previous=link(number - 1) if number > 1 else None,
        next=link(number + 1) if number < count else None,
    )
