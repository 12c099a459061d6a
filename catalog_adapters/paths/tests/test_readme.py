from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from sluicegate_paths.config import PathsConfig
from sluicegate_paths.folders import normalised

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def samples(key: str) -> list[Any]:
    """Return the parts of the README's samples under a top-level key."""
    blocks = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    return [sample[key] for block in blocks if key in (sample := YAML(typ="safe").load(block))]


def test_the_sample_is_a_valid_configuration() -> None:
    (catalogs,) = samples("catalogs")
    entry = catalogs["raw"]
    assert entry.pop("type") == "paths"
    assert PathsConfig.model_validate(entry).schemas == {"eu": "s3://acme-lake/eu"}


def test_the_tables_that_it_shares_are_locations() -> None:
    (shares,) = samples("shares")
    tables = shares["sales"]["schemas"]["eu"]["tables"].values()
    assert [normalised(table["table"]) for table in tables] == [
        "s3://acme-lake/eu/orders",
        "file:///srv/tables/visits",
        "s3://acme-lake/eu/clicks/metadata/v7.metadata.json",
    ]


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    assert re.findall(r"^\| `(\w+)` ", README, re.MULTILINE) == list(PathsConfig.model_fields)


def test_each_way_to_write_schemas_is_read() -> None:
    rows = re.findall(r'^\| `"?([^`":]+)"?: (s3:[^`]+)` ', README, re.MULTILINE)
    assert len(rows) == 4
    for name, location in rows:
        assert PathsConfig(schemas={name: location}).schemas == {name: normalised(location)}
