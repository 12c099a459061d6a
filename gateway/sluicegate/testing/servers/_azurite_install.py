"""Installs Azurite from npm."""

from __future__ import annotations

import shutil
from pathlib import Path

from sluicegate.testing.servers._npm_install import NpmMissing, npm_package

_VERSION = "3.37.0"
_MAIN = Path("dist", "src", "blob", "main.js")


class AzuriteMissing(RuntimeError):
    """Azurite is not installed, and the installation failed."""


def installed_azurite() -> list[str]:
    """Return the command of Azurite's blob service. Installs Azurite if necessary.

    Raises:
        AzuriteMissing: Node.js is missing, or npm cannot install Azurite.
    """
    node = shutil.which("node")
    if node is None:
        raise AzuriteMissing("install Node.js and npm to run the tests on Azure")
    try:
        return [node, str(npm_package("azurite", _VERSION) / _MAIN)]
    except NpmMissing as missing:
        raise AzuriteMissing(str(missing)) from missing
