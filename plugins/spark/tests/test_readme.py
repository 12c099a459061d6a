from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sluicegate_spark.config import SparkConfig

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["delegation"]["executors"]:
        assert entry.pop("type") == "spark"
        for catalog in entry["catalogs"].values():
            for secrets in (catalog["oauth2"], catalog.get("file_io", {})):
                from_environment = [name for name, value in secrets.items() if isinstance(value, dict)]
                secrets.update(dict.fromkeys(from_environment, "from the environment"))
        SparkConfig.model_validate(entry)


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` ", README.partition("## ")[0], re.MULTILINE)
    assert rows == list(SparkConfig.model_fields)
