"""A JVM that does not start: the reason is logged, and no files remain."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError

from sluicegate_spark.jvm import launch
from sluicegate_spark.jvm.environment import jvm_environment

from ..spark_requirements import require_java


@pytest.mark.jvm
def test_why_a_jvm_did_not_start_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    require_java()
    caplog.set_level(logging.INFO)
    folders = set(Path(tempfile.gettempdir()).glob("sluicegate-spark-*"))
    settings = {"spark.driver.extraJavaOptions": "-XX:MaxHeapSize=hidden"}
    with pytest.raises(PySparkRuntimeError, match="JAVA_GATEWAY_EXITED"):
        launch(settings, jvm_environment(os.environ), lambda text: text.replace("hidden", "***"))
    assert any("MaxHeapSize=***" in each for each in caplog.messages)
    assert set(Path(tempfile.gettempdir()).glob("sluicegate-spark-*")) <= folders
