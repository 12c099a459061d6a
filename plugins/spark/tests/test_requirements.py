"""Missing requirements of Spark are reported when the worker starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.api import ConfigurationError
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.jvm import requirements
from sluicegate_testing.fakes import FakeContext


def start(**section: object) -> None:
    SparkExecutor.configured(SparkConfig.model_validate(section), FakeContext())


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configure a folder that looks like a JDK."""
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return program


@pytest.mark.usefixtures("java")
def test_an_invalid_folder_of_jars_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=f"jars: the folder '{tmp_path}/nowhere' does not exist"
    ):
        start(jars=f"{tmp_path}/nowhere")
    with pytest.raises(ConfigurationError, match=f"the folder '{tmp_path}' contains no jars"):
        start(jars=str(tmp_path))
    (tmp_path / "iceberg.jar").touch()
    start(jars=str(tmp_path))


def test_missing_java_is_reported(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java.unlink()
    with pytest.raises(
        ConfigurationError, match=rf"JAVA_HOME \('{tmp_path}/jdk'\) contains no bin/java"
    ):
        start()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="install JDK 17, or set JAVA_HOME"):
        start()
    monkeypatch.setattr(requirements, "find_spec", lambda name: name)
    start(remote="sc://spark:15002")


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({}, "'pyspark' is not installed: pip install sluicegate-spark"),
        ({"remote": "sc://spark:15002"}, r"'grpc' is not installed: .*'sluicegate-spark\[connect\]'"),
    ],
)
def test_a_missing_python_package_is_reported(
    section: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=told):
        start(**section)
