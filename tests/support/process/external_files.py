"""What tests need from outside of the repository: tables, documents, and programs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

_LEFT_OUT = "not available: "


def require_external_files(found: bool, what: str, setting: str) -> None:
    """Skip a test without its external files, or in CI fail it.

    Args:
        found: Whether the files exist.
        what: Their name, in the plural.
        setting: The environment variable with their folder.
    """
    require_available(found, what, f"set {setting}")


def require_available(found: bool, what: str, remedy: str) -> None:
    """Skip a test without something that it needs, or in CI fail it.

    Args:
        found: Whether it is available.
        what: Its name.
        remedy: How to get it, as an imperative.
    """
    if found:
        return
    message = f"{_LEFT_OUT}{what} ({remedy})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def left_out(reports: Iterable[pytest.TestReport]) -> str | None:
    """One line about the tests that were skipped because something is missing; `None` for none."""
    reasons = [
        report.longrepr[2].partition(_LEFT_OUT)[2]
        for report in reports
        if isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]
    ]
    if not reasons:
        return None
    counted = ", ".join(f"{number} for {what}" for what, number in Counter(reasons).items())
    return f"left out, as CONTRIBUTING.md says under Tests: {counted}"
