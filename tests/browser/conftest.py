from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from browser.recipients import COUNTRIES, activation_link
from deltalake import write_deltalake
from support.clients.album import Album
from support.clients.visitor import Visitor, visitor
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.process.browser import chromium, require_browser

from sluicegate_testing.servers.ports import free_port

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


@pytest.fixture(scope="session")
def lake() -> Iterator[Path]:
    """Tables. Pages show where they are, and screenshots should not show a folder of pytest."""
    with TemporaryDirectory(prefix="lake-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def gateway(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway with the console, and a catalog with a table that is not shared yet."""
    require_browser()
    folder, port = tmp_path_factory.mktemp("gateway"), free_port()
    rows = pa.table({"id": [1, 2, 3], "country": COUNTRIES})
    for name in ("orders", "returns", "customers"):
        write_deltalake(lake / "eu" / name, rows)
    location = f"file://{lake}/"
    tables = {
        name: {"catalog": "raw", "table": f"{location}eu/{name}"} for name in ("orders", "returns")
    }
    write_configuration(
        folder,
        {
            "public_url": f"http://127.0.0.1:{port}",
            "catalogs": {"raw": {"type": "paths", "schemas": {"*": f"{location}*/"}}},
            "storage": [{"type": "file", "prefix": location}],
            "admin": {},
            "console": {},
        },
        {
            "shares": {"sales": {"comment": "Daily sales", "schemas": {"eu": {"tables": tables}}}},
            "recipients": {
                "acme": {"shares": ["sales"], "comment": "Acme Ltd."},
                "former": {},
                "pending": {"shares": ["sales"]},
            },
        },
    )
    with running_gateway(folder, port=port) as running:
        running.profile("acme")
        running.command("recipient", "revoke", "former", "--yes")
        activation_link(running, "pending")
        yield running


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[Callable[[], Visitor]]:
    """Opens windows. A test fails if the browser reports a problem of a page in one of them."""
    with ExitStack() as windows:
        yield lambda: windows.enter_context(visitor(browser))
