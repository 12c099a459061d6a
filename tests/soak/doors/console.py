"""The console, in which an administrator logs in, opens pages, searches the audit log, and logs out."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
from soak.doors.admin import audited_request
from soak.site import READERS, SHARE
from soak.visitor import PATIENCE_SECONDS, Operation, Visitor

_DOOR = "console"
_FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
_ROW = re.compile(r'<th scope="row"><a href="/console/audit/(\d+)"')
_PAGES = {
    "": "Overview",
    "/shares": SHARE,
    f"/shares/{SHARE}": "embargo",
    f"/recipients/{READERS[0]}": READERS[0],
    "/recipients": READERS[0],
    "/usage": "Usage",
    "/tasks": "Tasks",
}
"""Pages, and a text that each contains."""


async def pages(visitor: Visitor) -> None:
    """Pages of an administrator."""
    async with _logged_in(visitor) as browser:
        for path in browser.visitor.random.sample(sorted(_PAGES), 3):
            page = await browser.open(path)
            visitor.wrong(_DOOR, None if _PAGES[path] in page else f"{path} lacks '{_PAGES[path]}'")


async def audit(visitor: Visitor) -> None:
    """The record of a request, found by a search and opened."""
    request = await audited_request(visitor)
    async with _logged_in(visitor) as browser:
        filters = {**request.filters, "since": request.filters["since"].replace("+00:00", "Z")}
        found = _ROW.findall(await browser.open("/audit", params=filters))
        visitor.wrong(_DOOR, None if len(found) == 1 else f"records of {request.id}: {found}")
        page = await browser.open(f"/audit/{found[0]}")
        shown = (request.id, *map(str, request.expected.values()))
        missing = [each for each in shown if html.escape(each) not in page]
        visitor.wrong(_DOOR, f"the page of a record lacks {missing}" if missing else None)


async def refused(visitor: Visitor) -> None:
    """A login with the token of a recipient, and pages without a session."""
    async with _new_browser(visitor) as browser:
        await browser.log_in(visitor.token, {401, 429})
        await browser.open("/recipients", expected={303})


@dataclass(frozen=True)
class _Browser:
    """Keeps cookies, which a `Visitor` otherwise doesn't need."""

    visitor: Visitor

    async def open(
        self, path: str, expected: Collection[int] = (200,), **options: dict[str, str]
    ) -> str:
        url = f"/console{path}"
        answer = await self.visitor.get(_DOOR, url, token="", expected=expected, **options)
        return answer.text

    async def log_in(self, token: str, expected: Collection[int]) -> None:
        await self.submit("/login", await self.open("/login"), {"token": token, "next": ""}, expected)

    async def submit(
        self, path: str, page: str, fields: dict[str, str], expected: Collection[int] = (303,)
    ) -> None:
        found = _FORM_TOKEN.search(page)
        self.visitor.wrong(_DOOR, None if found else "a page has no form")
        assert found is not None
        await self.visitor.post(
            _DOOR,
            f"/console{path}",
            token="",
            data={**fields, "form_token": html.unescape(found[1])},
            headers={"Sec-Fetch-Site": "same-origin"},
            expected=expected,
        )


@asynccontextmanager
async def _new_browser(visitor: Visitor) -> AsyncIterator[_Browser]:
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
        yield _Browser(replace(visitor, http=http))


@asynccontextmanager
async def _logged_in(visitor: Visitor) -> AsyncIterator[_Browser]:
    """A browser with a session, which ends with the block."""
    async with _new_browser(visitor) as browser:
        await browser.log_in(visitor.site.admin_token, {303})
        yield browser
        await browser.submit("/logout", await browser.open(""), {})
        await browser.open("", expected={303})


OPERATIONS = (
    Operation("pages of the console", 2, pages),
    Operation("audit in the console", 1, audit),
    Operation("refused by the console", 1, refused),
)
