"""A recipient opens its link in Chromium, and reads a table with what the page shows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from browser.recipients import COUNTRIES, activation_link, download_profile, run_pandas_sample
from support.clients.album import Album
from support.clients.visitor import Visitor
from support.gateways.gateway import RunningGateway


@pytest.fixture
def link(gateway: RunningGateway) -> str:
    """A new link of a recipient who can read the table."""
    return activation_link(gateway, "acme")


def test_a_recipient_reads_the_table_with_the_sample_of_the_page(
    link: str, new_visitor: Callable[[], Visitor], tmp_path: Path, album: Album
) -> None:
    recipient = new_visitor()
    recipient.open(link)
    album.show("activation", recipient)
    assert download_profile(recipient, tmp_path).name == "config.share"
    # The page is still there after the download.
    printed = run_pandas_sample(recipient, tmp_path)
    assert "sales.eu.orders" in printed
    assert all(country in printed for country in COUNTRIES)


def test_a_command_of_the_page_runs_as_it_was_copied(
    link: str, new_visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    recipient = new_visitor()
    recipient.open(link)
    download_profile(recipient, tmp_path)
    recipient.page.locator("summary", has_text="curl").click()
    command = recipient.copy(recipient.page.locator("#curl pre").first)
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    assert [share["name"] for share in json.loads(done.stdout)["items"]] == ["sales"]


def test_a_second_opening_reports_the_download_and_still_shows_the_samples(
    link: str, gateway: RunningGateway, new_visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    first = new_visitor()
    first.open(link)
    download_profile(first, tmp_path)
    second = new_visitor()
    second.open(link, status=410)
    assert second.heading == "This link has ended"
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
    download_profile(recipient, tmp_path)
    recipient.open(link, status=410)
    assert recipient.barriers() == []
    recipient.open(f"{link}0", status=404)
    assert recipient.barriers() == []
