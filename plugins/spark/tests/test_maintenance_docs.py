from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluicegate_spark.maintenance.compaction import DeltaCompaction, IcebergCompaction
from sluicegate_spark.maintenance.expiry import Expiry
from sluicegate_spark.maintenance.orphans import Orphans
from sluicegate_spark.maintenance.vacuum import Vacuum
from sluicegate_spark.properties import Properties

PAGE = Path(__file__).parents[3].joinpath("docs/operators/table-maintenance.md").read_text("utf-8")
EVERYWHERE = ["format", "location"]


@pytest.mark.parametrize(
    ("heading", "models"),
    [
        ("Compaction", [IcebergCompaction, DeltaCompaction]),
        ("Expiry of snapshots", [Expiry]),
        ("Orphan files", [Orphans]),
        ("VACUUM", [Vacuum]),
    ],
)
def test_each_property_has_a_row_and_each_row_a_property(
    heading: str, models: list[type[Properties]]
) -> None:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = [re.findall(r"^\| `([^`]+)` ", part, re.MULTILINE) for part in section.split("\n\n")]
    known = [
        [field.alias or name for name, field in model.model_fields.items() if name not in EVERYWHERE]
        for model in models
    ]
    assert [rows for rows in tables if rows] == known
