"""A recipient opens its link in Chromium, and reads a table with what the page shows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.clients.album import Album
from support.clients.visitor import Visitor
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.process.ending import LEAVE

from sluicegate.testing.secrets import keep_secret
from sluicegate.testing.servers.ports import free_port

RUN_FILE = f"import runpy, sys; runpy.run_path(sys.argv[1]){LEAVE}"
COUNTRIES = ["Deutschland", "Österreich", "Schweiz"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder, port = tmp_path_factory.mktemp("gateway"), free_port()
    write_deltalake(folder / "orders", pa.table({"id": [1, 2, 3], "country": COUNTRIES}))
    table = {"catalog": "raw", "table": f"file://{folder}/orders"}
    write_configuration(
        folder,
        {
            "public_url": f"http://127.0.0.1:{port}",
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{folder}/"}],
        },
        {
            "shares": {"sales": {"schemas": {"eu": {"tables": {"orders": table}}}}},
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    with running_gateway(folder, port=port) as running:
        yield running


@pytest.fixture
def link(gateway: RunningGateway) -> str:
    """A new link of a recipient who can read the table."""
    url = gateway.command("recipient", "rotate", "acme", "--activation").strip()
    keep_secret(url.partition("=")[2])
    return url


def download(recipient: Visitor, folder: Path) -> Path:
    profile = recipient.download(recipient.page.get_by_role("button"), folder)
    keep_secret(json.loads(profile.read_text())["bearerToken"])
    return profile


def test_a_new_recipient_reads_the_table_with_the_snippet_of_the_page(
    link: str, new_visitor: Callable[[], Visitor], tmp_path: Path, album: Album
) -> None:
    recipient = new_visitor()
    recipient.open(link)
    album.show("activation", recipient)
    assert download(recipient, tmp_path).name == "config.share"
    # The page is still there, and the samples are reached and expanded without a mouse.
    summary = recipient.page.locator("summary", has_text="pandas")
    recipient.focus_by_keyboard(summary)
    recipient.page.keyboard.press("Enter")
    sample = recipient.copy(recipient.page.locator("#pandas pre").last)
    (tmp_path / "sample.py").write_text(sample, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN_FILE, "sample.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "sales.eu.orders" in done.stdout
    assert all(country in done.stdout for country in COUNTRIES)


def test_a_command_of_the_page_runs_as_it_was_copied(
    link: str, new_visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    recipient = new_visitor()
    recipient.open(link)
    download(recipient, tmp_path)
    recipient.page.locator("summary", has_text="curl").click()
    command = recipient.copy(recipient.page.locator("#curl pre").first)
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    assert [share["name"] for share in json.loads(done.stdout)["items"]] == ["sales"]


def test_a_second_opening_reports_the_download_and_still_shows_the_snippets(
    link: str, gateway: RunningGateway, new_visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    first = new_visitor()
    first.open(link)
    download(first, tmp_path)
    second = new_visitor()
    second.open(link, status=410)
    assert second.page.get_by_role("heading", level=1).inner_text() == "This link has ended"
    assert "the profile was downloaded with this link at 20" in second.page.inner_text("main").lower()
    assert second.page.get_by_role("button").count() == 0
    assert second.page.locator("details").count() == first.page.locator("details").count() > 0
    assert gateway.logs("was opened again after its use")


def test_the_pages_have_no_barriers(
    link: str, new_visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    recipient = new_visitor()
    recipient.open(link)
    assert recipient.barriers() == []
    download(recipient, tmp_path)
    recipient.open(link, status=410)
    assert recipient.barriers() == []
    recipient.open(f"{link}0", status=404)
    assert recipient.barriers() == []
