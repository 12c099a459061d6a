"""Which tests the environments `spark-standalone` and `spark-connect` of `tox.ini` run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "tests" / "spark"
# How modules create an executor. If they get one from a fixture, this fixture does it.
EXECUTORS = re.compile(
    r"\b(executor_section|executor_on_engine|write_delegation|SparkConfig|SparkExecutor)\b"
)
FIXTURES = re.compile(r"^ *(?:async )?def \w+\([^)]*\b(?:tasks_on|shared_spark): ", re.MULTILINE)
# Suites with engines of their own, which docs/operators/spark.md also names.
OWN_ENGINES = {
    "test_killed_jobs": "Spark Connect: forked workers start at once, because Spark already runs",
    "test_killed_workers": "Spark Connect, and Spark in the worker",
    "test_spark_secrets": "Spark in the worker, whose processes are searched",
}


def sources(module: Path) -> Iterator[str]:
    """Return the texts of a module, and of all modules of its folder that it imports."""
    found, rest = set[Path](), [module]
    while rest:
        path = rest.pop()
        text = path.read_text(encoding="utf-8")
        found.add(path)
        yield text
        names = re.findall(r"^from spark\.(\w+) import", text, re.MULTILINE)
        rest += [path for name in names if (path := SUITES / f"{name}.py") not in {*found, *rest}]


def test_each_suite_that_creates_an_executor_follows_the_chosen_engine_or_is_known_not_to() -> None:
    suites = sorted(SUITES.glob("test_*.py"))
    creating = {each.stem for each in suites if any(map(EXECUTORS.search, sources(each)))}
    following = {each.stem for each in suites if FIXTURES.search(each.read_text(encoding="utf-8"))}
    assert creating - following == OWN_ENGINES.keys()


def test_both_environments_run_all_suites_that_follow() -> None:
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    section = tox["testenv:spark-{standalone,connect}"]
    for name in ("standalone", "connect"):
        assert f"{name}: SLUICEGATE_TASKS_ON = {name}" in section["set_env"]
    assert section["commands"].split("\n")[2:] == [
        'pytest -m "not shared_spark" {posargs:tests/spark}',
        "pytest -m shared_spark {posargs:tests/spark}",
    ]
