from __future__ import annotations

import re

import pytest
from ruamel.yaml import YAML

from sluicegate_cedar.config import CedarConfig
from sluicegate_cedar.policy_set import SCHEMA

from .conftest import README


@pytest.mark.parametrize("sample", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["policies"]:
        assert entry.pop("type") == "cedar"
        CedarConfig(**entry)


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    settings = README.partition("## Configuration")[2].partition("## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", settings, re.MULTILINE)
    assert set(rows) == set(CedarConfig.model_fields)


def test_the_schema_is_as_documented() -> None:
    (shown,) = re.findall(r"```cedarschema\n(.*?)```", README, re.DOTALL)
    assert shown == SCHEMA.read_text(encoding="utf-8")
