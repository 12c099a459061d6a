from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import VERSION

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
KEY = "aHVzaA=="


def samples() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)


def resolved(value: Any) -> Any:
    """Replace `{env: NAME}` and `{file: PATH}`, as the gateway does."""
    return KEY if isinstance(value, dict) else value


@pytest.mark.parametrize("sample", samples())
def test_each_sample_is_a_valid_configuration(sample: str) -> None:
    for entry in YAML(typ="safe").load(sample)["storage"]:
        assert entry.pop("type") == "azure"
        AzureConfig(**{name: resolved(value) for name, value in entry.items()})


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `")]

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(
        AzureConfig.model_fields
    )


def test_the_version_of_signatures_is_returned() -> None:
    assert f"service version {VERSION}" in README
