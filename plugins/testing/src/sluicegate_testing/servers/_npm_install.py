"""Installs packages from npm, once for all tests of a working directory: `.cache/<name>-<version>`."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

_NPM_OPTIONS = ("--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
_INSTALL_SECONDS = 300


class NpmMissing(RuntimeError):
    """The package is not installed, and the installation failed."""


def npm_package(name: str, version: str) -> Path:
    """Return the folder of an installed package. Installs it if necessary.

    Raises:
        NpmMissing: Node.js is missing, or npm cannot install the package.
    """
    cache = Path(os.environ.get("SLUICEGATE_CACHE", ".cache"))
    target = (cache / f"{name}-{version}").resolve()
    package = target / "node_modules" / name
    if not package.exists():
        _install(name, version, target)
    return package


def _install(name: str, version: str, target: Path) -> None:
    """Install into another folder and rename it, so that it is always complete. Parallel tests wait."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NpmMissing(f"install Node.js and npm to run the tests with {name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return
        sys.stderr.write(f"installing {name} {version} from npm into {target}\n")
        unfinished = target.with_name(f"{target.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        done = subprocess.run(
            [npm, "install", *_NPM_OPTIONS, f"--prefix={unfinished}", f"{name}@{version}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_SECONDS,
        )
        if done.returncode:
            raise NpmMissing(f"npm could not install {name}: {done.stderr.strip()[-2000:]}")
        unfinished.rename(target)
