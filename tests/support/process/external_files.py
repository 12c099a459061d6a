"""Tables and documents outside of the repository, which tests read and which cannot be part of it."""

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
    if found:
        return
    message = f"{_LEFT_OUT}{what} (set {setting})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def left_out(reports: Iterable[pytest.TestReport]) -> str | None:
    """One line about the tests that were skipped because files are missing; `None` for none."""
    reasons = [
        report.longrepr[2].partition(_LEFT_OUT)[2]
        for report in reports
        if isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]
    ]
    if not reasons:
        return None
    counted = ", ".join(f"{number} for {what}" for what, number in Counter(reasons).items())
    return f"left out, as CONTRIBUTING.md says under Tests: {counted}"
