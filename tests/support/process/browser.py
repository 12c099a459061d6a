"""Chromium, Playwright, and axe for tests in a browser. `python -m` installs what is missing.

Chromium comes from the distribution's packages, because browsers that Playwright downloads are in no
registry. axe comes from npm, and is kept in `.cache`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec

from support.process.external_files import require_available

from sluicegate_testing.servers._npm_install import NpmMissing, npm_package

_AXE = "4.14.1"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable")


def chromium() -> str | None:
    """The program, or `None` if it is not installed. SLUICEGATE_CHROMIUM can name another one."""
    named = os.environ.get("SLUICEGATE_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else _NAMES)), None)


def axe() -> str:
    """The source of axe, which checks the accessibility of a page."""
    return (npm_package("axe-core", _AXE) / "axe.min.js").read_text(encoding="utf-8")


def missing() -> list[str]:
    """What the tests need and is not installed."""
    absent = [] if chromium() else ["Chromium, of the package `chromium`"]
    if not find_spec("playwright"):
        absent.append("Playwright, which `tox -e browser` installs")
    try:
        axe()
    except NpmMissing as error:
        absent.append(f"axe: {error}")
    return absent


def require_browser() -> None:
    """Skip the test if something is missing. With `CI=true`, fail it."""
    absent = missing()
    require_available(not absent, " and ".join(absent), "run `tox -e browser`")


def _install_chromium() -> None:
    """Install the distribution's package, if this process may."""
    apt = shutil.which("apt-get")
    if chromium() or apt is None or os.geteuid() != 0:
        return
    began = time.monotonic()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(
            [apt, "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL, check=False
        )
    outcome = "installed" if chromium() else "could not install"
    print(f"{outcome} the package chromium in {time.monotonic() - began:.0f} s")


def main() -> None:
    """Install what is missing, and report what the tests use."""
    _install_chromium()
    if absent := missing():
        report = f"the tests in a browser need {' and '.join(absent)}"
        sys.exit(report) if os.environ.get("CI") == "true" else print(f"{report}: they will be skipped")
        return
    program = chromium() or ""
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    print(f"Chromium: {program}, {version.stdout.strip()}")
    print(f"axe: {_AXE}, in {npm_package('axe-core', _AXE)}")


if __name__ == "__main__":
    main()
