"""A browser without JavaScript: keeps cookies, follows redirects, and submits the forms of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode, urljoin, urlsplit

import lxml.html
from lxml.html import FormElement, HtmlElement
from starlette.types import ASGIApp
from support.clients.asgi import Answer, Request, exchange

ORIGIN = "https://share.example"


@dataclass(frozen=True)
class Page:
    """A page, as a browser shows it."""

    address: str
    answer: Answer

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.answer.status

    @property
    def source(self) -> str:
        """The HTML."""
        return self.answer.body.decode()

    @property
    def document(self) -> HtmlElement:
        """The parsed page."""
        return lxml.html.document_fromstring(self.source)

    @property
    def heading(self) -> str:
        """The text of its only h1."""
        (found,) = self.document.xpath("//h1")
        return str(found.text_content()).strip()

    @property
    def text(self) -> str:
        """The text of its content: words with single spaces, also between elements."""
        (main,) = self.document.xpath("//main")
        return " ".join(" ".join(main.itertext()).split())

    @property
    def links(self) -> list[str]:
        """Paths and queries of its links within the gateway."""
        found = [urljoin(self.address, each) for each in self.document.xpath("//a/@href")]
        return [each for each in found if each.startswith(ORIGIN)]

    def forms(self) -> Sequence[FormElement]:
        """Its forms."""
        return list(self.document.forms)

    def form(self, button: str) -> FormElement:
        """The form with a button of this label."""
        found = [
            form
            for form in self.forms()
            if any(each.text_content().strip() == button for each in form.xpath(".//button"))
        ]
        assert len(found) == 1, (button, len(found), self.text)
        return found[0]


@dataclass
class Browser:
    """The browser of one person.

    Attributes:
        headers: Headers in addition to those of a browser; `None` removes one.
    """

    app: ASGIApp
    address: str = "192.0.2.1"
    cookies: dict[str, str] = field(default_factory=dict)
    shown: Page | None = None
    headers: dict[str, str | None] = field(default_factory=dict)

    @property
    def page(self) -> Page:
        """The page that it shows."""
        assert self.shown is not None
        return self.shown

    async def open(self, path: str) -> Page:
        """Open a page, and follow redirects within the gateway."""
        return await self._follow(await self.send("GET", path), path)

    async def submit(self, button: str, **fields: str) -> Page:
        """Submit the form of the shown page with this button, with some fields filled in."""
        form = self.page.form(button)
        values = dict(form.form_values())
        unknown = set(fields) - set(form.fields.keys())
        assert not unknown, unknown
        values |= fields
        pressed = [
            each
            for each in form.xpath(".//button")
            if each.get("name") and each.text_content().strip() == button
        ]
        values |= {each.get("name"): each.get("value", "") for each in pressed}
        target = urljoin(self.page.address, form.get("action") or self.page.address)
        path = target.removeprefix(ORIGIN).partition("#")[0]
        if form.method == "GET":
            return await self.open(f"{path.partition('?')[0]}?{urlencode(values)}")
        return await self._follow(await self.post(path, values), path)

    async def post(self, path: str, fields: dict[str, str]) -> Answer:
        """Send a form."""
        return await self.send("POST", path, urlencode(fields).encode())

    async def send(self, method: str, path: str, body: bytes = b"") -> Answer:
        """The response to one request, whose cookies are kept."""
        sent: dict[str, str | None] = {"host": "share.example", "accept": "text/html"}
        if method == "POST":
            sent |= {
                "content-type": "application/x-www-form-urlencoded",
                "origin": ORIGIN,
                "sec-fetch-site": "same-origin",
            }
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent |= self.headers
        headers = [(name, value) for name, value in sent.items() if value is not None]
        answer = await exchange(
            self.app, Request(method, path, headers, body, client=(self.address, 1))
        )
        self._keep(answer)
        return answer

    async def _follow(self, answer: Answer, path: str) -> Page:
        for _ in range(5):
            if answer.status != 303:
                break
            target = urljoin(f"{ORIGIN}{path}", answer.headers["location"])
            assert target.startswith(ORIGIN), target
            path = target.removeprefix(ORIGIN)
            answer = await self.send("GET", path)
        self.shown = Page(f"{ORIGIN}{path}", answer)
        assert urlsplit(self.shown.address).path.startswith("/console")
        return self.shown

    def _keep(self, answer: Answer) -> None:
        for line in answer.cookies:
            pair, *attributes = line.split("; ")
            name, _, value = pair.partition("=")
            if any(each.lower() == "max-age=0" for each in attributes):
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
