from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from support.clients.album import Album
from support.clients.visitor import Visitor, visitor
from support.process.browser import chromium, require_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screenshots", action="store_true", help="take the screenshots of the documentation again"
    )


@pytest.fixture
def album(request: pytest.FixtureRequest) -> Album:
    # Without the option if another folder was named on the command line.
    return Album(take=bool(request.config.getoption("--screenshots", default=False)))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Without Chromium's own sandbox, which needs more rights than containers have.
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[Callable[[], Visitor]]:
    """Opens windows. A test fails if the browser reports a problem of a page in one of them."""
    with ExitStack() as windows:
        yield lambda: windows.enter_context(visitor(browser))
