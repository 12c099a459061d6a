"""Values of identity partitions, as partition filters name them."""

from __future__ import annotations

import orjson
import pytest

from sluicegate.api import TableUnreadable
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.identity import IdentityColumn, identity_column


def declared(type_: object, transform: str = "identity") -> IcebergDeclaration:
    fields = [{"id": 4, "name": "Key", "required": False, "type": type_}]
    partition = {"field-id": 1000, "source-id": 4, "name": "Key", "transform": transform}
    return IcebergDeclaration(
        orjson.dumps({"type": "struct", "fields": fields}).decode(),
        orjson.dumps([{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [partition]}]).decode(),
    )


def column(type_: object) -> IdentityColumn:
    found = identity_column(declared(type_), "KEY")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("type_", "text", "written"),
    [
        ("string", "D\u00c9 '", "D\u00c9 '"),
        ("string", "", ""),
        ("int", "-7", "-7"),
        ("long", "9223372036854775807", "9223372036854775807"),
        ("boolean", "true", "true"),
        ("date", "-1", "1969-12-31"),
        ("decimal(9, 2)", "ff85", "-1.23"),
        ("decimal(38,0)", "7b", "123"),
        ("uuid", "f79c3e0966774bbda4793f349cb785e7", "f79c3e09-6677-4bbd-a479-3f349cb785e7"),
    ],
)
def test_values_are_written_as_partition_columns_of_delta_tables(
    type_: str, text: str, written: str
) -> None:
    assert column(type_).key == "=4"
    assert column(type_).written(text) == written


@pytest.mark.parametrize(
    ("type_", "text"), [("date", "99999999999"), ("date", "x"), ("uuid", "00"), ("decimal(4, 1)", "x")]
)
def test_what_is_no_value_has_no_text(type_: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        column(type_).written(text)


@pytest.mark.parametrize(
    "declaration",
    [
        declared("string", "bucket[4]"),
        declared("string", "void"),
        declared("timestamp"),
        declared("double"),
        declared({"type": "struct", "fields": []}),
    ],
)
def test_other_columns_do_not_partition_by_values(declaration: IcebergDeclaration) -> None:
    assert identity_column(declaration, "Key") is None


def test_a_malformed_declaration_is_unreadable() -> None:
    with pytest.raises(TableUnreadable):
        identity_column(IcebergDeclaration("{}"), "Key")
