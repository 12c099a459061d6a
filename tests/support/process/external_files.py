"""What tests need from outside of the repository: tables, documents, and programs.

As a plugin of pytest, this module reports at the end what was left out.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Generator, Iterable

import pytest

_LEFT_OUT = "not available: "


def require_external_files(found: bool, what: str, setting: str) -> None:
    """Skip a test without its external files, or in CI fail it."""
    require_available(found, what, f"set {setting}")


def require_available(found: bool, what: str, remedy: str) -> None:
    """Skip a test without something that it needs, or in CI fail it."""
    if found:
        return
    message = f"{_LEFT_OUT}{what} ({remedy})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def skip_without(program: str, *, also_in_ci: bool = False) -> pytest.MarkDecorator:
    """A mark of tests that need a program."""
    is_skipped = shutil.which(program) is None and (also_in_ci or os.environ.get("CI") != "true")
    return pytest.mark.skipif(is_skipped, reason=f"{_LEFT_OUT}{program} (install it)")


def left_out(reports: Iterable[pytest.TestReport]) -> list[str]:
    """A line for each thing without which tests were skipped: how many, and how to have them."""
    reasons = [
        report.longrepr[2].partition(_LEFT_OUT)[2]
        for report in reports
        if isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]
    ]
    counted = sorted(Counter(reasons).items())
    lines = [
        f"left out: {number} {'test' if number == 1 else 'tests'} for {what}"
        for what, number in counted
    ]
    return [*lines, "see What tests need in CONTRIBUTING.md"] if lines else []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """Say at the end which tests were left out, and how to have them."""
    yield
    for line in left_out(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line)
