"""Checks, when the worker starts, that this machine has everything Spark needs."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from sluicegate.api import ConfigurationError
from sluicegate_spark.config import SparkConfig


def require(config: SparkConfig) -> None:
    """Reject a configuration with which no task could run. Nothing is started or opened."""
    if config.remote is None:
        _require_package("pyspark", "master", "sluicegate-spark")
        _require_java()
    else:
        _require_package("grpc", "remote", "'sluicegate-spark[connect]'")
    if config.jars is not None:
        jars_in(config.jars)


def jars_in(folder: str) -> list[str]:
    """Return the jars of a folder, sorted."""
    path = Path(folder)
    if not path.is_dir():
        raise ConfigurationError(f"jars: the folder '{folder}' does not exist")
    found = sorted(map(str, path.glob("*.jar")))
    if not found:
        raise ConfigurationError(f"jars: the folder '{folder}' contains no jars")
    return found


def _require_package(module: str, key: str, distribution: str) -> None:
    if find_spec(module) is None:
        raise ConfigurationError(
            f"{key}: the Python package '{module}' is not installed: pip install {distribution}"
        )


def _require_java() -> None:
    """Look for Java in the same places as Spark's scripts."""
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").is_file():
        raise ConfigurationError(
            f"Spark needs Java, but JAVA_HOME ('{home}') contains no bin/java: correct it, or unset it"
        )
    if not home and shutil.which("java") is None:
        raise ConfigurationError("Spark needs Java: install JDK 17, or set JAVA_HOME to its location")
