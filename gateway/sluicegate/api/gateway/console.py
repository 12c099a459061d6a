"""Pages that plugins add to the console; part of `sluicegate.api`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """A request of an administrator for a page of a plugin.

    Attributes:
        administrator: The name of the administrator.
        role: The role of the administrator: `viewer`, `admin` or `owner`.
        query: The query parameters. Anybody can write a link with any values.
    """

    administrator: str
    role: str
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConsoleText:
    """A paragraph.

    Attributes:
        kind: How it looks: `failed` for a problem, `done` for good news.
    """

    text: str
    kind: Literal["plain", "failed", "done"] = "plain"


@dataclass(frozen=True, slots=True)
class ConsoleFacts:
    """Names with values, such as counts. A name can be a sentence of few words."""

    facts: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class ConsoleTable:
    """A table.

    Attributes:
        caption: What it contains, which screen readers announce.
        columns: The headings of the columns.
        rows: The cells of each row, as many as there are columns. The first names the row.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | None]]


ConsoleBlock: TypeAlias = ConsoleText | ConsoleFacts | ConsoleTable
"""A part of a page. The console escapes all texts."""


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A page at `/console/plugins/PLUGIN/path`, for administrators of all shares.

    Attributes:
        path: Lower-case letters, digits and `-`; empty for the first page of a plugin.
        title: The heading, which is also the label in the navigation.
        show: Returns the parts of the page, from top to bottom. An error of `sluicegate.api` becomes a
            page with its message. The page waits 8 seconds for it.
        role: The role that an administrator needs; each includes those before it: `viewer`, `admin`,
            `owner`.
        in_navigation: Whether the navigation has an entry for the page.
    """

    path: str
    title: str
    show: Callable[[ConsoleRequest], Awaitable[Sequence[ConsoleBlock]]]
    role: Literal["viewer", "admin", "owner"] = "viewer"
    in_navigation: bool = True
