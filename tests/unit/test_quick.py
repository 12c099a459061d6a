"""What contributors run before they push: the environment `quick` of `tox.ini`."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Suites that need jars, a JDK, Node.js, a built distribution or the network, or many minutes.
NOT_QUICK = (
    *("attacks", "catalogs", "clients", "connector", "delegation", "fuzz", "histories"),
    *("mutants", "packaging", "releasing", "spark"),
)
# Areas of which at least one suite is quick. `tables` stands for the readers of formats.
AREAS = ("access", "cli", "config", "docs", "http", "plugins", "protocols", "tables", "unit")


@pytest.fixture(scope="module")
def tox() -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    return parser


@pytest.fixture(scope="module")
def suites(tox: ConfigParser) -> list[str]:
    """The files and folders that `quick` tests."""
    return tox["quick"]["tests"].split()


def test_lint_and_types_come_before_the_tests(tox: ConfigParser) -> None:
    *lint, tests = tox["testenv:quick"]["commands"].split("\n")[1:]
    assert lint == ["{[testenv:type]commands}"]
    assert tests == "pytest -n 2 --dist loadfile {posargs:{[quick]tests}}"


def test_it_needs_what_the_main_environment_needs_and_nothing_else(tox: ConfigParser) -> None:
    assert tox["testenv:quick"].keys() <= {"description", "commands"}


def test_each_suite_exists_and_is_listed_once(suites: list[str]) -> None:
    assert [each for each in suites if not (ROOT / each).exists()] == []
    assert len(set(suites)) == len(suites)
    nested = [(a, b) for a in suites for b in suites if a.startswith(f"{b}/")]
    assert nested == []


def test_the_unit_tests_are_part_of_it_and_come_first(suites: list[str]) -> None:
    assert suites[0] == "tests/unit"


def test_each_area_has_a_quick_suite_and_none_is_slow(suites: list[str]) -> None:
    areas = {each.split("/")[1] for each in suites}
    assert areas >= set(AREAS)
    assert areas.isdisjoint(NOT_QUICK)


def test_no_suite_needs_a_jar_or_the_site(suites: list[str]) -> None:
    sources = [file for each in suites for file in [ROOT / each, *sorted((ROOT / each).rglob("*.py"))]]
    needs = ("support.process.spark", "support.servers.iceberg_java", "import mkdocs", "pyspark")
    found = [
        (str(file.relative_to(ROOT)), need)
        for file in sources
        if file.suffix == ".py" and file != Path(__file__).resolve()
        for need in needs
        if need in file.read_text(encoding="utf-8")
    ]
    assert found == []


def test_the_page_for_contributors_describes_it() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "| `quick` |" in page
    assert "tox -e quick" in page
