"""What a whole range needs of its reader, as tables of cases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluicegate.tables.changes import TableState
from sluicegate.tables.features import extends, spanning_needs, spanning_protocol
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

V1, V2 = TableProtocol(1, 4), TableProtocol(2, 5)
VECTORS = TableProtocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly"))
NTZ = TableProtocol(3, 7, ("timestampNtz",), ("timestampNtz",))
WRITER = TableProtocol(1, 7, None, ("appendOnly",))


@pytest.mark.parametrize(
    ("protocols", "expected"),
    [
        ([V1], V1),
        ([V2], V2),
        ([V1, V2, V1], V2),
        ([V1, VECTORS], VECTORS),
        ([VECTORS, V1], VECTORS),
        ([V1, WRITER], WRITER),
        (
            [VECTORS, NTZ],
            TableProtocol(
                3,
                7,
                ("deletionVectors", "timestampNtz"),
                ("deletionVectors", "appendOnly", "timestampNtz"),
            ),
        ),
        (
            [V2, VECTORS],
            TableProtocol(
                3,
                7,
                ("columnMapping", "deletionVectors"),
                ("deletionVectors", "appendOnly", "columnMapping"),
            ),
        ),
    ],
)
def test_one_protocol_covers_many(protocols: list[TableProtocol], expected: TableProtocol) -> None:
    assert spanning_protocol(protocols) == expected


def struct(**fields: Any) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in fields.items()
        ],
    }


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def table(schema: dict[str, Any], *partitions: str) -> TableMetadata:
    return TableMetadata("id", json.dumps(schema), partitions)


@pytest.mark.parametrize(
    ("newer", "older", "expected"),
    [
        (struct(a="long"), struct(a="long"), True),
        (struct(b="string", a="long"), struct(a="long"), True),
        (struct(a="long"), struct(a="long", b="string"), False),
        (struct(a="string"), struct(a="long"), False),
        (struct(A="long"), struct(a="long"), False),
        (struct(s=struct(x="long", y="long")), struct(s=struct(x="long")), True),
        (struct(s=struct(y="long")), struct(s=struct(x="long")), False),
        (struct(s="string"), struct(s=struct(x="long")), False),
        (struct(s=array(struct(x="long", y="long"))), struct(s=array(struct(x="long"))), True),
        (struct(s=array("long")), struct(s=array("string")), False),
        (struct(s=array("long")), struct(s=struct(x="long")), False),
    ],
)
def test_a_schema_extends_another(newer: dict[str, Any], older: dict[str, Any], expected: bool) -> None:
    assert extends(table(newer), table(older)) is expected


def test_other_partitions_are_another_table() -> None:
    schema = struct(a="long", b="long")
    assert extends(table(schema, "a"), table(schema, "a"))
    assert not extends(table(schema, "a"), table(schema, "b"))


def test_needs_of_a_range_are_those_of_all_its_states() -> None:
    plain, ntz = table(struct(a="long")), table(struct(a="timestamp_ntz"))
    states = [TableState(0, V1, plain), TableState(1, VECTORS, plain), TableState(2, NTZ, ntz)]
    needs = spanning_needs(states, deletion_vectors=False)
    assert needs.declared == ("deletionVectors", "timestampNtz")
    assert needs.required == needs.beyond_parquet == ("timestampNtz",)
    assert spanning_needs(states, deletion_vectors=True).required == needs.declared
