from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sluicegate_unity.config import UnityConfig
from sluicegate_unity.names import Names

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
SAMPLES = [YAML(typ="safe").load(text) for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)]


def resolved(value: Any) -> Any:
    """Return a section with `{env: NAME}` and `{file: PATH}` replaced, as the gateway does."""
    if isinstance(value, dict):
        if value.keys() in ({"env"}, {"file"}):
            return "resolved"
        return {key: resolved(inner) for key, inner in value.items()}
    return value


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if "catalogs" in sample])
def test_each_sample_is_a_valid_configuration(sample: dict[str, Any]) -> None:
    for entry in sample["catalogs"].values():
        assert entry.pop("type") == "unity"
        assert UnityConfig.model_validate(resolved(entry)).uri.endswith("example.com")


def test_the_tables_that_it_shares_have_identifiers() -> None:
    (shares,) = (sample["shares"] for sample in SAMPLES if "shares" in sample)
    orders = shares["sales"]["schemas"]["eu"]["tables"]["orders"]
    assert str(Names("main").table(orders["table"])) == "main.eu.orders"


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    assert set(re.findall(r"^\| `(\w+)` ", README, re.MULTILINE)) == set(UnityConfig.model_fields)
