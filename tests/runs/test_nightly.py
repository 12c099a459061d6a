"""Tests that check few random cases for each change check all of them at night."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a module that checks more cases at night imports or reads.
_SIGNS = ("support.process.random_cases import", "SLUICEGATE_FUZZ_", "SLUICEGATE_EXPLAIN_")


def listed() -> list[str]:
    """The modules and folders that `tox -e nightly` runs."""
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    return [path for suites in tox["nightly"].values() for path in suites.split()]


def test_each_module_with_random_cases_runs_at_night() -> None:
    modules = [
        path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.glob("tests/**/test_*.py"))
        if path != Path(__file__) and any(sign in path.read_text() for sign in _SIGNS)
    ]
    assert len(modules) > 15
    assert [each for each in modules if not each.startswith(tuple(listed()))] == []


def test_each_listed_module_exists() -> None:
    assert [path for path in listed() if not (ROOT / path).exists()] == []
