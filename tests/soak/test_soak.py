"""A short run, in which nothing fails: each operation works, and none finds a violation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from soak.doors.all import OPERATIONS
from soak.report import MARK, markdown, write
from soak.run import Plan, soak
from soak.schedule import Pace

_NEVER = Pace(outage=1, between=1_000_000)


@pytest.mark.skipif(
    "SLUICEGATE_SOAK" not in os.environ, reason="takes minutes: tox -e nightly sets SLUICEGATE_SOAK"
)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of s3fs, which PyIceberg uses
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_each_operation_works(tmp_path: Path) -> None:
    plan = Plan(
        seconds=1,
        clients=2,
        think=0.2,
        database="sqlite",
        pace=_NEVER,
        commit_every=0.5,
        recovery=0,
        rounds_after=1,
    )
    result = await soak(tmp_path / "run", plan)
    assert result.record.violations == []
    assert set(result.operations) == {each.name for each in OPERATIONS}
    assert result.commits > 0
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{MARK}\n\nof an earlier run\n")
    write(markdown(result, machine="a machine", commit="a commit"), page)
    assert page.read_text().startswith(f"# Page\n\n{MARK}\n\n**Result: no violations**")
    assert "earlier" not in page.read_text()
