"""Partition values for PyIceberg up to 0.12, which converts none and refuses null."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from starlette.datastructures import Headers
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_shape

from sluicegate.api import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs, spec_without
from sluicegate.tables.iceberg.shape import IcebergShape


def shape_of(*kinds: str) -> IcebergShape:
    names = [f"p{place}" for place in range(len(kinds))]
    fields = [schema_field(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return iceberg_shape(table_metadata([schema_field("id", "long"), *fields], names))


def members(shape: IcebergShape, *values: str | None) -> dict[str, Any]:
    partition = orjson.dumps({f"p{place}": value for place, value in enumerate(values)}).decode()
    text = PartitionReader(shape, Dialect.PYICEBERG).members(partition)
    found: dict[str, Any] = json.loads(b"{%b}" % text)  # orjson reads large integers as floats
    return found


@pytest.mark.parametrize(
    ("agent", "dialect"),
    [
        ("PyIceberg/0.12.0", Dialect.PYICEBERG),
        ("PyIceberg/0.11.1", Dialect.PYICEBERG),
        ("PyIceberg/0.13.0", Dialect.STANDARD),
        ("PyIceberg/1.0.0", Dialect.STANDARD),
        ("PyIceberg/0.99999", Dialect.STANDARD),
        ("Apache-HttpClient/5.5 (Java/17)", Dialect.STANDARD),
        (None, Dialect.STANDARD),
    ],
)
def test_clients_are_known_by_their_user_agent(agent: str | None, dialect: Dialect) -> None:
    assert Dialect.of(Headers({} if agent is None else {"User-Agent": agent})) is dialect


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2024-01-02", 19724),
        ("timestamp", "2024-01-02 03:04:05.000006", 1704164645000006),
        ("timestamp_ntz", "2024-01-02 03:04:05", 1704164645000000),
        ("decimal(9,2)", "-2.00", -2),
        ("decimal(38,2)", f"{-(10**36) + 1}.00", -(10**36) + 1),
        ("float", "1.1", 1.1),
        ("double", "1", 1.0),
        ("boolean", "false", False),
        ("string", "x", "x"),
        ("long", "5", 5),
    ],
)
def test_values_are_those_of_the_column(kind: str, text: str, value: Any) -> None:
    (found,) = members(shape_of(kind), text)["partition"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("kind", "text"), [("decimal(9,2)", "1.5"), ("binary", "x")])
def test_values_without_such_json_are_refused(kind: str, text: str) -> None:
    with pytest.raises(UnsupportedOperation, match="this Iceberg client cannot read"):
        members(shape_of(kind), text)


def test_files_with_nulls_have_a_spec_without_these_fields() -> None:
    shape = shape_of("string", "long", "date")
    first = spec_without((), shape)
    assert members(shape, "a", "1", "2024-01-02")["spec-id"] == first
    assert members(shape, "a", None, "") == {"spec-id": first + 6, "partition": ["a"]}
    assert members(shape, None, None, None) == {"spec-id": first + 127, "partition": []}
    specs = {spec["spec-id"] - first: spec["fields"] for spec in partition_specs(shape)}
    assert [field["field-id"] for field in specs[0]] == [1000, 1001, 1002]
    assert [field["field-id"] for field in specs[6]] == [1000]
    assert specs[127] == []
    assert specs[0][0] == {
        "field-id": 1000,
        "source-id": 2,
        "name": "p0",
        "transform": "identity",
    }
    assert len(specs) == 8


def test_specs_are_listed_for_six_fields_at_most() -> None:
    assert len(partition_specs(shape_of(*["long"] * 6))) == 64
    many = shape_of(*["long"] * 7)
    first = spec_without((), many)
    assert [(each["spec-id"], len(each["fields"])) for each in partition_specs(many)] == [
        (first, 7),
        (first + 127, 0),
    ]
    assert members(many, *[None] * 7) == {"spec-id": first + 127, "partition": []}
    assert [each["spec-id"] for each in partition_specs(shape_of())] == [0]
    with pytest.raises(UnsupportedOperation, match="more than 6 columns"):
        spec_without([0], many)
    assert members(many, *"1234567")["spec-id"] == first


def test_specs_of_other_partition_columns_have_other_ids() -> None:
    shapes = [shape_of(), shape_of("long"), shape_of("long", "long")]
    ids = [{each["spec-id"] for each in partition_specs(shape)} for shape in shapes]
    assert [len(each) for each in ids] == [1, 2, 4]
    assert len(set.union(*ids)) == 7
    assert all(0 <= each < 2**31 for each in set.union(*ids))
