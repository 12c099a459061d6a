"""What Spark needs on the worker's machine, looked for when the worker starts."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from sluicegate.api import ConfigurationError
from sluicegate_spark.config import SparkConfig


def require(config: SparkConfig) -> None:
    """Refuse a worker that could not run a single task; nothing is started or opened.

    Raises:
        ConfigurationError: A part is missing; the message says which, and how to get it.
    """
    if config.remote is None:
        _require_package("pyspark", "master", "sluicegate-spark")
        _require_java()
    else:
        _require_package("grpc", "remote", "'sluicegate-spark[connect]'")
    if config.jars is not None:
        jars_in(config.jars)


def jars_in(folder: str) -> list[str]:
    """The jars of a folder, sorted.

    Raises:
        ConfigurationError: There is no such folder, or no jar in it.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ConfigurationError(f"jars: there is no folder '{folder}'")
    found = sorted(map(str, path.glob("*.jar")))
    if not found:
        raise ConfigurationError(f"jars: there is no jar in the folder '{folder}'")
    return found


def _require_package(module: str, key: str, distribution: str) -> None:
    if find_spec(module) is None:
        raise ConfigurationError(
            f"{key}: the Python package '{module}' is not installed: pip install {distribution}"
        )


def _require_java() -> None:
    """As Spark's own scripts look for it."""
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").is_file():
        raise ConfigurationError(
            f"Spark needs Java, and there is no bin/java in JAVA_HOME ('{home}'): "
            "correct it, or unset it"
        )
    if not home and shutil.which("java") is None:
        raise ConfigurationError("Spark needs Java: install a JDK 17, or set JAVA_HOME to where it is")
