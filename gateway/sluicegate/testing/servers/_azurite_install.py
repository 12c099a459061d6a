"""Installs Azurite from npm, once for all tests of a working directory: `.cache/azurite-<version>`."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

_VERSION = "3.37.0"
_MAIN = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")
_NPM_OPTIONS = ("--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
_INSTALL_SECONDS = 300


class AzuriteMissing(RuntimeError):
    """Azurite is not installed, and the installation failed."""


def installed_azurite() -> list[str]:
    """Return the command of Azurite's blob service. Installs Azurite if necessary.

    Raises:
        AzuriteMissing: Node.js is missing, or npm cannot install Azurite.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise AzuriteMissing("Azurite needs Node.js and npm; install them to run the tests on Azure")
    cache = Path(os.environ.get("SLUICEGATE_CACHE", ".cache"))
    target = (cache / f"azurite-{_VERSION}").resolve()
    if not (target / _MAIN).exists():
        _install(npm, target)
    return [node, str(target / _MAIN)]


def _install(npm: str, target: Path) -> None:
    """Install into another folder and rename it, so that it is always complete. Parallel tests wait."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (target / _MAIN).exists():
            return
        sys.stderr.write(f"installing azurite {_VERSION} from npm into {target}\n")
        unfinished = target.with_name(f"{target.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        done = subprocess.run(
            [npm, "install", *_NPM_OPTIONS, f"--prefix={unfinished}", f"azurite@{_VERSION}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_SECONDS,
        )
        if done.returncode:
            raise AzuriteMissing(f"npm could not install azurite: {done.stderr.strip()[-2000:]}")
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
