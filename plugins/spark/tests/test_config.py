from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from sluicegate.api import ConfigurationError
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.engine import jars_in


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"remote": "sc://spark:15002", "master": "yarn"}, "remote and master exclude each other"),
        ({"remote": "sc://spark:15002", "jars": "/jars"}, "remote and jars exclude each other"),
        ({"remote": "http://spark:15002"}, "remote"),
        ({"jars": "/jars", "packages": ["a:b:1"]}, "jars and packages exclude each other"),
        ({"catalogs": {"lake": {}}}, "catalogs.lake.uri"),
        ({"catalogs": {"lake": {"uri": "http://c", "credential": "x"}}}, "catalogs.lake.credential"),
    ],
)
def test_a_wrong_section_is_refused(section: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SparkConfig.model_validate(section)


def test_settings_of_spark_may_be_secrets() -> None:
    config = SparkConfig.model_validate({"conf": {"spark.hadoop.fs.s3a.secret.key": "of-the-worker"}})
    assert "of-the-worker" not in repr(config)


def test_a_folder_without_jars_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"there is no jar in the folder '{tmp_path}'"):
        jars_in(str(tmp_path))
