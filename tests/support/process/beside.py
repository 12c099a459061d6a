"""Tables and documents that tests read from outside of the repository, which may not hold them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

_LEFT_OUT = "not at hand: "


def require_beside(found: bool, what: str, setting: str) -> None:
    """Go on where something is there; else skip the test, or in CI fail it.

    Args:
        found: Whether it is there.
        what: What it is, in the plural.
        setting: The environment variable that says where it is.
    """
    if found:
        return
    message = f"{_LEFT_OUT}{what} (set {setting})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def left_out(reports: Iterable[pytest.TestReport]) -> str | None:
    """One line that says which tests were skipped for want of what is beside; `None` for none."""
    reasons = [
        report.longrepr[2].partition(_LEFT_OUT)[2]
        for report in reports
        if isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]
    ]
    if not reasons:
        return None
    counted = ", ".join(f"{number} for {what}" for what, number in Counter(reasons).items())
    return f"left out, as CONTRIBUTING.md says under Tests: {counted}"
