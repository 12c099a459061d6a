"""Formats with field ids in their files, as Iceberg's: clients get these ids, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.tables.filesets import schema_field, table_metadata

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.delta_schema import translated
from sluicegate.tables.iceberg.shape import Struct, fields_of

LIST = {"type": "array", "elementType": "string", "containsNull": True}
FIELDS = [
    schema_field("a", {"type": "struct", "fields": [schema_field("b", LIST)]}),
    schema_field(
        "m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    ),
]
IDS = {"a": 7, "a.b": 3, "a.b.element": 12, "m": 2, "m.key": 5, "m.value": 6}


def never(*field: Any) -> int:
    raise AssertionError(f"{field} gets an id")


def read(ids: dict[str, int], **configuration: str) -> Struct:
    return translated(replace(table_metadata(FIELDS, **configuration), field_ids=ids), never)


@pytest.mark.parametrize("mode", ["none", "id"])
def test_ids_of_the_format_are_used_at_every_level(mode: str) -> None:
    found = read(IDS, **{"delta.columnMapping.mode": mode})
    assert [each.id for each in fields_of(found)] == [7, 3, 12, 2, 5, 6]


@pytest.mark.parametrize("missing", IDS)
def test_a_field_without_an_id_is_refused_by_its_path(missing: str) -> None:
    ids = {path: id_ for path, id_ in IDS.items() if path != missing}
    with pytest.raises(UnsupportedOperation, match=f"column '{missing}' has no field id"):
        read(ids)
