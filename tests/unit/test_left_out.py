"""Tests without what they need are skipped, or fail in CI, and the end of a run counts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process.external_files import left_out, require_available, skip_without

from sluicegate_testing.servers._npm_install import NpmMissing, npm_package


def report(reason: str) -> pytest.TestReport:
    place = ("test_a.py", 1, f"Skipped: {reason}")
    return pytest.TestReport("a", ("test_a.py", 1, "a"), {}, "skipped", place, "setup")


def test_each_missing_thing_has_a_line() -> None:
    reasons = ["not available: tables (set TABLES)", "not available: curl (install it)"]
    reports = [report(reason) for reason in (*reasons, reasons[0], "runs at night")]
    assert left_out(reports) == [
        "left out: 1 test for curl (install it)",
        "left out: 2 tests for tables (set TABLES)",
        "see What tests need in CONTRIBUTING.md",
    ]


def test_if_nothing_is_missing_there_is_no_line() -> None:
    assert left_out([report("runs at night")]) == []


def test_the_page_for_contributors_has_the_section() -> None:
    page = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "\n### What tests need\n" in page


@pytest.fixture
def no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is installed, and nothing is downloaded yet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLUICEGATE_CACHE", str(tmp_path))


@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize("ci", ["", "false", "true"])
def test_what_is_missing_skips_tests_and_fails_them_in_ci(
    ci: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    outcome = pytest.fail.Exception if ci == "true" else pytest.skip.Exception
    with pytest.raises(outcome, match=r"^not available: tables \(set TABLES\)$"):
        require_available(False, "tables", "set TABLES")
    require_available(True, "tables", "set TABLES")
    assert skip_without("curl").args == (ci != "true",)
    assert skip_without("curl", also_in_ci=True).args == (True,)


@pytest.mark.usefixtures("no_programs")
def test_a_package_of_npm_names_what_it_needs() -> None:
    with pytest.raises(NpmMissing, match=r"install Node\.js and npm to run the tests with azurite"):
        npm_package("azurite", "1.0.0")
