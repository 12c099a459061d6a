from __future__ import annotations

import json
import re

import pytest
from ruamel.yaml import YAML

from sluicegate.api import Principal, SharedTable
from sluicegate_opa.config import OpaConfig
from sluicegate_opa.documents import Subject, input_document

from .stand_in import README


@pytest.mark.parametrize("sample", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["policies"]:
        assert entry.pop("type") == "opa"
        token = entry.pop("token", {"env": "OPA_TOKEN"})
        assert set(token) <= {"env", "file"}
        OpaConfig(**entry)


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    settings = README.partition("## Configuration")[2].partition("## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", settings, re.MULTILINE)
    assert set(rows) == set(OpaConfig.model_fields)


def test_the_input_is_as_documented() -> None:
    sample = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert sample is not None
    acme = Principal("5f0c9a", "acme", "bearer", "192.0.2.7", {"region": "eu"})
    table = SharedTable(
        *("8d2e41", "sales", "71aa03", "eu", "orders", "lake", "eu.orders"),
        access_modes=("url", "dir"),
        tags={"region": "eu", "classification": "internal"},
    )
    made = json.loads(json.dumps(input_document(Subject.of(acme, "read"), [table])))
    assert made == json.loads(sample[1])
