"""What recipients do with the page of an activation link."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.clients.visitor import Visitor
from support.gateways.gateway import RunningGateway
from support.process.ending import LEAVE

from sluicegate_testing.secrets import keep_secret

COUNTRIES = ("Deutschland", "Österreich", "Schweiz")
"""A column of the tables that recipients read."""

_RUN_FILE = f"import runpy, sys; runpy.run_path(sys.argv[1]){LEAVE}"


def activation_link(gateway: RunningGateway, recipient: str) -> str:
    """A new link of a recipient that exists."""
    url = gateway.command("recipient", "rotate", recipient, "--activation").strip()
    keep_secret(url.partition("=")[2])
    return url


def download_profile(recipient: Visitor, folder: Path) -> Path:
    """Use the button of the page, with the keyboard."""
    profile = recipient.download(recipient.page.get_by_role("button"), folder)
    keep_secret(json.loads(profile.read_text())["bearerToken"])
    return profile


def run_pandas_sample(recipient: Visitor, folder: Path) -> str:
    """Expand the sample for pandas with the keyboard, copy it, and run it next to the profile.

    Returns:
        What it prints.
    """
    recipient.press_enter_on(recipient.page.locator("summary", has_text="pandas"))
    sample = recipient.copy(recipient.page.locator("#pandas pre").last)
    (folder / "sample.py").write_text(sample, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _RUN_FILE, "sample.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
