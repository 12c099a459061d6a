"""Finds Java and jars for tests with Spark, and has settings for small tables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

JARS = "SLUICEGATE_SPARK_JARS"

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.default.parallelism": "2",
    "spark.log.level": "FATAL",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def require_java() -> None:
    """Skip the test if Java is missing. With `CI=true`, fail it."""
    if shutil.which("java") is None:
        _missing("Spark (install a JDK 17)")


def require_jars() -> Path:
    """Return the folder with the jars of Delta Lake, Iceberg and S3A, or skip or fail the test."""
    require_java()
    found = next(_folders_with_jars(), None)
    if found is None:
        _missing(f"jars of Spark (set {JARS} to a folder with those that README.md lists)")
    assert found is not None
    return found


def _folders_with_jars() -> Iterator[Path]:
    """Search the folder that the environment names, or `.cache` of all parent folders."""
    named = os.environ.get(JARS)
    cached = [each / ".cache" / "spark-jars" for each in Path(__file__).parents]
    for folder in [Path(named)] if named else cached:
        jars = sorted(
            folder.rglob("delta-spark_*.jar"), key=lambda jar: jar.stat().st_mtime, reverse=True
        )
        yield from (jar.parent for jar in jars[:1])


def _missing(what: str) -> None:
    what = f"not available: {what}"
    pytest.fail(what) if os.environ.get("CI") == "true" else pytest.skip(what)
