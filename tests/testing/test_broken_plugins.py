"""Every planted mistake is found by the check that is meant for it; correct plugins pass all checks.

The suites in `broken_plugins` are run as their authors run them: by pytest, in a process of their own.
"""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parent / "broken_plugins"
MODULES = (
    *("assets", "authenticators", "catalogs", "formats", "object_storages", "policies", "storages"),
    "token_bindings",
)


def suites() -> Iterator[tuple[str, str, str | None]]:
    """Module, class, and the check that must find the mistake; `None` for a correct plugin."""
    for name in MODULES:
        module = importlib.import_module(f"testing.broken_plugins.{name}")
        for suite, kind in inspect.getmembers(module, inspect.isclass):
            if suite.startswith("Test") and kind.__module__ == module.__name__:
                yield name, suite, vars(kind)["caught_by"]


@cache
def results(folder: Path) -> dict[tuple[str, str], dict[str, bool]]:
    """Whether checks of the suites pass: all of correct plugins, else the one that is meant."""
    report = folder / "report.xml"
    wanted = [
        "::".join(part for part in (str(FOLDER / f"{name}.py"), suite, check) if part)
        for name, suite, check in suites()
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    options = [f"--junitxml={report}", f"--basetemp={folder / 'files'}"]
    done = subprocess.run(
        [*command, *options, *wanted], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        if case.find("skipped") is None:
            module, suite = case.attrib["classname"].split(".")[-2:]
            checks = found.setdefault((module, suite), {})
            name = case.attrib["name"].partition("[")[0]
            passed = case.find("failure") is None and case.find("error") is None
            checks[name] = checks.get(name, True) and passed
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken_plugins")


@pytest.mark.slow
@pytest.mark.parametrize(("module", "suite", "check"), list(suites()))
def test_a_mistake_is_found_by_its_check(
    folder: Path, module: str, suite: str, check: str | None
) -> None:
    checks = results(folder)[module, suite]
    failed = {name for name, passed in checks.items() if not passed}
    assert failed == ({check} if check else set())
