"""Environment variables of the JVM, without a JVM."""

from __future__ import annotations

import pytest

from sluicegate_spark.jvm.environment import jvm_environment


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "JAVA_HOME", "LANG", "LC_ALL", "TZ", "HTTPS_PROXY", "no_proxy"),
        *("SPARK_LOCAL_DIRS", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "PYSPARK_PYTHON", "SSL_CERT_FILE"),
    ],
)
def test_the_jvm_gets_what_places_it_on_its_machine(name: str) -> None:
    assert jvm_environment({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "DATABASE_URL",
            "POLARIS_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_PROFILE",
            "SLUICEGATE_CONFIG",
        ),
        *("SPARK_CATALOG_SECRET", "SPARK_DB_PASSWORD", "HADOOP_CREDSTORE_PASSWORD"),
        *("PYSPARK_GATEWAY_SECRET", "PYSPARK_GATEWAY_PORT", "JAVA_TOOL_OPTIONS"),
    ],
)
def test_the_jvm_gets_nothing_else_unless_it_is_named(name: str) -> None:
    assert jvm_environment({name: "x"}) == {}
    assert jvm_environment({name: "x"}, {name}) == {name: "x"}
