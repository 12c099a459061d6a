from __future__ import annotations

import pytest
from pydantic import ValidationError

from sluicegate_spark.config import SparkConfig


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"remote": "sc://spark:15002", "master": "yarn"}, "remote and master exclude each other"),
        ({"remote": "sc://spark:15002", "jars": "/jars"}, "remote and jars exclude each other"),
        ({"remote": "http://spark:15002"}, "remote\n.*expected sc://host:15002"),
        ({"master": "sparc://spark:7077"}, "master\n.*expected local"),
        ({"jars": "/jars", "packages": ["a:b:1"]}, "jars and packages exclude each other"),
        ({"catalogs": {"lake": {}}}, "catalogs.lake.uri"),
        (
            {"remote": "sc://spark:15002", "usage": {"location": "s3://u/t"}},
            "remote and usage exclude each other",
        ),
        ({"usage": {"location": "usage"}}, "usage.location\n.*it has no scheme, such as s3://"),
        ({"usage": {"location": "file:///usage"}}, "usage.location\n.*directory in a bucket"),
        ({"usage": {"location": "s3://u/a/../b"}}, "usage.location\n.*ambiguous"),
        ({"usage": {"location": "s3://u/t", "logs": []}}, "usage.logs"),
        ({"usage": {"location": "s3://u/t", "file_io": {"s3.key": "x"}}}, "'s3.key' has no effect"),
        (
            {"usage": {"location": "s3://u/t", "access_logs": ["s3://u/t/logs"]}},
            "location and access_logs must not contain each other",
        ),
        ({"catalogs": {"lake": {"uri": "http://c", "credential": "x"}}}, "catalogs.lake.credential"),
    ],
)
def test_a_wrong_section_is_refused(section: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SparkConfig.model_validate(section)


@pytest.mark.parametrize("master", ["local", "local[2]", "yarn", "spark://a:7077", "k8s://https://a"])
def test_every_kind_of_cluster_is_taken(master: str) -> None:
    assert SparkConfig.model_validate({"master": master}).master == master


def test_settings_of_spark_may_be_secrets() -> None:
    config = SparkConfig.model_validate({"conf": {"spark.hadoop.fs.s3a.secret.key": "of-the-worker"}})
    assert "of-the-worker" not in repr(config)
