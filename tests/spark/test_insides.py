"""Insides of PySpark that the plugin uses exist in the installed version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.names.insides import Inside
from support.process.docs import ROOT

_PLUGIN = "plugins/spark/src/sluicegate_spark"
_CONTEXT = "pyspark.core.context:SparkContext"
_SESSION = "pyspark.sql.session:SparkSession"
INSIDES = [
    Inside("pyspark", f"{_PLUGIN}/engine.py", _CONTEXT, "_active_spark_context _gateway _jsc _lock"),
    Inside("pyspark", f"{_PLUGIN}/jvm/launch.py", "pyspark.find_spark_home", "_find_spark_home"),
    Inside("pyspark", f"{_PLUGIN}/jvm/redaction.py", _CONTEXT, "_conf"),
    Inside("pyspark", f"{_PLUGIN}/maintenance/progress.py", _CONTEXT, "_jsc"),
    Inside("pyspark", f"{_PLUGIN}/maintenance/progress.py", _SESSION, "_jsparkSession"),
    Inside("pyspark", f"{_PLUGIN}/maintenance/session.py", _SESSION, "_jvm"),
    Inside(
        "pyspark",
        f"{_PLUGIN}/materialization/incremental/delta_changes.py",
        _SESSION,
        "_jsparkSession _jvm",
    ),
    Inside("pyspark", f"{_PLUGIN}/purge/sorted_files.py", _CONTEXT, "_jsc _jvm"),
    Inside(
        "pyspark",
        f"{_PLUGIN}/purge/sorted_files.py",
        "pyspark.core.rdd:RDD",
        "_jrdd _jrdd_deserializer",
    ),
    Inside("pyspark", f"{_PLUGIN}/purge/sorted_files.py", "pyspark.util", "_load_from_socket"),
]
# Attributes of PySpark, by the names of the variables.
_PRIVATE = re.compile(r"\b(?:SparkContext|context|internal|rdd|spark|sparkContext)\.(_\w+)")


@pytest.mark.parametrize(
    "inside", INSIDES, ids=lambda each: f"{each.owner} in {Path(each.used_by).name}"
)
def test_an_inside_is_where_the_plugin_uses_it(inside: Inside) -> None:
    assert list(inside.moved()) == []
    source = (ROOT / inside.used_by).read_text(encoding="utf-8")
    assert [name for name in inside.names.split() if not re.search(rf"\b{name}\b", source)] == []


def test_each_private_attribute_is_listed() -> None:
    listed = {name for each in INSIDES for name in each.names.split()}
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / _PLUGIN).rglob("*.py"))
    assert {name for source in sources for name in _PRIVATE.findall(source)} <= listed
