"""Pages about tasks on Spark have exactly one row for each property."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluicegate_spark.conversion.to_delta.operation import ToDelta
from sluicegate_spark.conversion.to_iceberg.operation import ToIceberg
from sluicegate_spark.maintenance.compaction import Compaction, DeltaCompaction, IcebergCompaction
from sluicegate_spark.maintenance.expiry import Expiry
from sluicegate_spark.maintenance.vacuum import Vacuum
from sluicegate_spark.orphans.operation import Orphans
from sluicegate_spark.properties import Properties

DOCS = Path(__file__).parents[2] / "docs" / "operators"
EVERYWHERE = ["format", "location"]


@pytest.mark.parametrize(
    ("heading", "models"),
    [
        ("Compaction", [IcebergCompaction, DeltaCompaction, Compaction]),
        ("Expiry of snapshots", [Expiry]),
        ("Orphan files", [Orphans]),
        ("VACUUM", [Vacuum]),
    ],
)
def test_each_property_of_maintenance_has_a_row_and_each_row_a_property(
    heading: str, models: list[type[Properties]]
) -> None:
    page = DOCS.joinpath("table-maintenance.md").read_text("utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = [re.findall(r"^\| `([^`]+)` ", part, re.MULTILINE) for part in section.split("\n\n")]
    assert [rows for rows in tables if rows] == [own_properties(model, models) for model in models]


def own_properties(model: type[Properties], models: list[type[Properties]]) -> list[str]:
    """Return the properties of a model, without those of another one that it extends."""
    extended = [other for other in models if other is not model and issubclass(model, other)]
    left_out = {*EVERYWHERE, *(name for other in extended for name in other.model_fields)}
    return [field.alias or name for name, field in model.model_fields.items() if name not in left_out]


def test_each_property_of_conversion_has_a_row_and_each_row_a_property() -> None:
    sections = DOCS.joinpath("table-conversion.md").read_text("utf-8").split("\n## ")[1:3]
    rows = [re.findall(r"^\| `(\w+)` ", section, re.MULTILINE) for section in sections]
    assert rows == [["writable", "checkpoint_interval"], ["location", "target"]]
    assert set(rows[0]) <= ToDelta.model_fields.keys()
    assert set(rows[1]) == ToIceberg.model_fields.keys()
