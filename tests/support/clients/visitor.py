"""Somebody with a browser window, who notices what the browser reports about pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from support.process.browser import axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Response

Scheme = Literal["light", "dark"]
# CSS pixels; 320 is the width at which WCAG 2.2, "Reflow", requires pages without horizontal scrolling.
NARROW, WIDE = 320, 1280
LOOKS: tuple[tuple[Scheme, int], ...] = (("dark", NARROW), ("light", WIDE))
_HEIGHT = 900
_TAB_PRESSES = 60
# Of a document, the status is what a test asserts; Chromium also reports it as an error.
_FAILED_LOAD = "Failed to load resource"
_AXE_RUN = "async () => (await axe.run({resultTypes: ['violations']})).violations"
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_OPEN_DETAILS = "document.querySelectorAll('details').forEach(each => { each.open = true })"


class Visitor:
    """A window without cookies of other visitors."""

    def __init__(self, context: BrowserContext) -> None:
        self.problems: list[str] = []
        self._context = context
        self.page: Page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error of a script: {error}"))
        self.page.on("response", self._response)

    @property
    def heading(self) -> str:
        """The text of the first heading of the page."""
        return str(self.page.get_by_role("heading", level=1).inner_text())

    def open(self, url: str, *, status: int = 200) -> None:
        """Open an address."""
        response = self.page.goto(url)
        assert response is not None
        assert response.status == status, f"{self.page.url}: {response.status}"

    def wait_for_heading(self, text: str) -> None:
        """Wait for the page with this first heading."""
        self.page.get_by_role("heading", level=1, name=text, exact=True).wait_for()

    def focus_by_keyboard(self, target: Locator) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(_TAB_PRESSES):
            if target.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{self.page.url}: the keyboard does not reach {target}")

    def press_enter_on(self, target: Locator) -> None:
        """Press Tab until an element has the focus, and then Enter."""
        self.focus_by_keyboard(target)
        self.page.keyboard.press("Enter")

    def type_into(self, label: str, text: str) -> None:
        """Press Tab until the field with a label has the focus, and type instead of its content."""
        self.focus_by_keyboard(self.page.get_by_label(label, exact=True))
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def copy(self, target: Locator) -> str:
        """Click on an element, copy what is selected then, and paste it elsewhere."""
        target.click()
        self.page.keyboard.press("ControlOrMeta+c")
        editor = self._context.new_page()
        editor.set_content("<textarea></textarea>")
        editor.locator("textarea").focus()
        editor.keyboard.press("ControlOrMeta+v")
        pasted = str(editor.locator("textarea").input_value())
        editor.close()
        return pasted

    def download(self, target: Locator, folder: Path) -> Path:
        """Press Enter on an element that downloads a file, and save the file."""
        with self.page.expect_download() as started:
            self.press_enter_on(target)
        path = folder / str(started.value.suggested_filename)
        started.value.save_as(path)
        return path

    def barriers(self) -> list[str]:
        """What axe finds on the page, dark and narrow, then light and wide, and too wide content.

        Collapsed parts are expanded, because axe does not check what is not shown.
        """
        self.page.evaluate(_OPEN_DETAILS)
        found: list[str] = []
        for scheme, width in LOOKS:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": _HEIGHT})
            found += (f"{self.page.url} ({scheme}, {width}): {each}" for each in self._axe())
            if (excess := self.page.evaluate(_OVERFLOW)) > 0:
                found.append(f"{self.page.url} ({width}): {excess} pixels are outside of the window")
        return found

    def headings(self) -> list[str]:
        """The texts of the headings of the page, with 0 for each number, such as those of dates."""
        return [re.sub(r"\d+", "0", each) for each in self.page.locator("h1, h2").all_inner_texts()]

    def links(self, below: str) -> set[str]:
        """Addresses without fragments of the links of the page that begin with a text."""
        found = self.page.evaluate("[...document.querySelectorAll('a[href]')].map(each => each.href)")
        return {each.partition("#")[0] for each in found if each.startswith(below)}

    def peek(self, url: str) -> tuple[int, str]:
        """Status and content type of what an address serves this visitor, without opening it."""
        response = self._context.request.head(url)
        return int(response.status), str(response.headers.get("content-type", ""))

    def _axe(self) -> Iterator[str]:
        # Not as a script element, which the Content Security Policy of a page forbids.
        self.page.evaluate(axe())
        for violation in self.page.evaluate(_AXE_RUN):
            for node in violation["nodes"]:
                yield f"{violation['id']}: {node['html']}: {node['failureSummary']}"

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_FAILED_LOAD):
            self.problems.append(f"{self.page.url}: {message.text}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            self.problems.append(f"{self.page.url}: {response.status} for {response.url}")


@contextmanager
def visitor(browser: Browser) -> Iterator[Visitor]:
    """A visitor, until the block ends."""
    context = browser.new_context(viewport={"width": WIDE, "height": _HEIGHT}, locale="en-US")
    try:
        visiting = Visitor(context)
        yield visiting
        assert not visiting.problems, "\n".join(visiting.problems)
    finally:
        context.close()
