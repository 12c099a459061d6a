from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sluicegate_mtls.config import MtlsConfig

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["authentication"]["authenticators"]:
        assert entry.pop("type") == "mtls"
        MtlsConfig(**entry)


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)
    assert set(rows) == set(MtlsConfig.model_fields)
