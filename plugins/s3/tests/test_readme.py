from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sluicegate_s3.config import S3Config, VendingConfig

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def resolved(value: Any) -> Any:
    """Replace `{env: NAME}` and `{file: PATH}`, as the gateway does."""
    references = ({"env"}, {"file"})
    return "resolved" if isinstance(value, dict) and set(value) in references else value


@pytest.mark.parametrize("sample", blocks("yaml"))
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["storage"]:
        assert entry.pop("type") == "s3"
        S3Config(**{name: resolved(value) for name, value in entry.items()})


@pytest.mark.parametrize("policy", blocks("json"))
def test_each_policy_is_json(policy: str) -> None:
    assert json.loads(policy)["Version"] == "2012-10-17"


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `")]
    vending = {f"vending.{name}" for name in VendingConfig.model_fields}

    assert {name for row in rows for name in re.findall(r"`([\w.]+)`", row)} == {
        *S3Config.model_fields,
        *vending,
    }
