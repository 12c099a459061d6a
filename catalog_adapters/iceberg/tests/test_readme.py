from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import TableName

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def samples(key: str) -> list[Any]:
    """Return the parts of the README's samples under a top-level key."""
    blocks = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    return [sample[key] for block in blocks if key in (sample := YAML(typ="safe").load(block))]


def with_secrets(section: Any) -> Any:
    """Return the section with each `{env: NAME}` replaced, as the gateway does before validation."""
    if not isinstance(section, dict):
        return section
    if section.keys() == {"env"}:
        return "secret"
    return {key: with_secrets(value) for key, value in section.items()}


@pytest.mark.parametrize(
    ("name", "entry"),
    [pair for sample in samples("catalogs") for pair in sample.items()],
)
def test_the_samples_are_valid_configurations(name: str, entry: dict[str, Any]) -> None:
    section = with_secrets(entry)
    assert section.pop("type") == "iceberg"
    assert IcebergConfig.model_validate(section).uri.startswith("https://"), name


def test_the_tables_that_it_shares_are_identifiers() -> None:
    (shares,) = samples("shares")
    tables = shares["sales"]["schemas"]["eu"]["tables"].values()
    assert [TableName.parse(table["table"]) for table in tables] == [
        TableName(("eu",), "orders"),
        TableName(("eu", "north"), "returns"),
        TableName(("eu",), "orders.v1"),
    ]


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    assert set(re.findall(r"^\| `(\w+)` ", README, re.MULTILINE)) == set(IcebergConfig.model_fields)
