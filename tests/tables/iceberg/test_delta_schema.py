"""Schemas of Delta as schemas of Iceberg: ids, names in files, and what is refused with a reason."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from support.tables.filesets import schema_field, table_metadata

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.delta_schema import translated
from sluicegate.tables.iceberg.shape import Field, ListOf, MapOf, Struct

MAPPING: dict[str, Any] = {"delta.columnMapping.mode": "name"}
ID, PHYSICAL = "delta.columnMapping.id", "delta.columnMapping.physicalName"
NESTED = "delta.columnMapping.nested.ids"


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def mapped(name: str, kind: Any, id_: Any, **more: Any) -> dict[str, Any]:
    return schema_field(name, kind, **{ID: id_, PHYSICAL: f"col-{name}", **more})


class Ids:
    """Numbers fields in the order of the calls, from a first one."""

    def __init__(self, first: int = 1) -> None:
        self.asked: list[tuple[int, str, str]] = []
        self._numbers = count(first)

    def __call__(self, parent: int, name: str, kind: str) -> int:
        self.asked.append((parent, name, kind))
        return next(self._numbers)


def read(
    *fields: dict[str, Any], ids: Ids | None = None, partitions: Any = (), **config: str
) -> Struct:
    return translated(table_metadata(fields, partitions, **config), ids or Ids())


def said(*fields: dict[str, Any], **config: Any) -> str:
    with pytest.raises(UnsupportedOperation) as caught:
        read(*fields, **config)
    return caught.value.message


def test_columns_keep_their_order_names_and_comments() -> None:
    found = read(
        schema_field("a b", "long", comment="counts"), schema_field("d", "date", comment={"no": "text"})
    )
    assert found == Struct(
        (Field(1, "a b", "long", "a b", doc="counts"), Field(2, "d", "date", "d")),
    )


def test_parents_get_ids_before_their_children() -> None:
    ids = Ids()
    inner = struct(schema_field("x", "double"), schema_field("y", map_of("string", array("short"))))
    found = read(schema_field("s", array(inner)), schema_field("t", "string"), ids=ids)
    assert ids.asked == [
        (0, "s", "array"),
        (1, "element", "struct"),
        (2, "x", "floating"),
        (2, "y", "map"),
        (4, "key", "string"),
        (4, "value", "array"),
        (6, "element", "integer"),
        (0, "t", "string"),
    ]
    first = found.fields[0].type
    assert isinstance(first, ListOf)
    assert isinstance(first.element.type, Struct)
    (x, y) = first.element.type.fields
    assert (x.id, x.type) == (3, "double")
    assert isinstance(y.type, MapOf)
    assert (y.type.key, y.type.key.required) == (Field(5, "key", "string", "key", required=True), True)
    assert not y.type.value.required


def test_only_columns_that_files_contain_are_required() -> None:
    def strict(name: str, kind: Any) -> dict[str, Any]:
        return schema_field(name, kind) | {"nullable": False}

    found = read(
        strict("a", "long"),
        strict("p", "long"),
        strict("s", struct(strict("x", "long"))),
        schema_field("n", "long"),
        partitions=["p"],
    )
    assert [(each.name, each.required) for each in found.fields] == [
        ("a", True),
        ("p", False),
        ("s", True),
        ("n", False),
    ]
    assert isinstance(inner := found.fields[2].type, Struct)
    assert not inner.fields[0].required


def test_mapped_columns_have_the_ids_and_names_of_their_files() -> None:
    ids = Ids()
    nested = {"col-l.element": 11, "col-l.element.element": 12}
    found = read(
        mapped("s", struct(mapped("x", "long", 9)), 3),
        mapped("l", array(array("long")), 4, **{NESTED: nested}),
        mapped("m", map_of("string", "long"), 5, **{NESTED: {"col-m.key": 13, "col-m.value": 14}}),
        ids=ids,
        **MAPPING,
    )
    assert ids.asked == []
    assert [(each.id, each.physical_name) for each in found.fields] == [
        (3, "col-s"),
        (4, "col-l"),
        (5, "col-m"),
    ]
    assert found.fields[0].type == Struct((Field(9, "x", "long", "col-x"),))
    outer = found.fields[1].type
    assert isinstance(outer, ListOf)
    assert isinstance(outer.element.type, ListOf)
    assert (outer.element.id, outer.element.type.element.id) == (11, 12)
    assert isinstance(pair := found.fields[2].type, MapOf)
    assert (pair.key.id, pair.value.id) == (13, 14)


def test_ids_count_only_while_columns_are_mapped() -> None:
    ids = Ids(70)
    (found,) = read(mapped("a", "long", 3), ids=ids).fields
    assert (found.id, found.physical_name) == (70, "a")


def test_structs_in_mapped_lists_and_maps_need_no_id_in_files() -> None:
    ids = Ids(900)
    inner = struct(mapped("x", "long", 9))
    found = read(
        mapped("l", array(inner), 4), mapped("m", map_of("string", inner), 5), ids=ids, **MAPPING
    )
    assert ids.asked == [(4, "element", "struct"), (5, "key", "string"), (5, "value", "struct")]
    assert isinstance(listed := found.fields[0].type, ListOf)
    assert listed.element.id == 900


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (array("long"), "v"),
        (map_of("string", "long"), "v"),
        (array(array("long")), "v.element"),
        (struct(mapped("w", map_of("string", array("long")), 8)), "v.w.value"),
    ],
)
def test_mapped_values_without_ids_are_refused(kind: Any, shown: str) -> None:
    message = said(mapped("v", kind, 4), **MAPPING)
    assert f"'{shown}' is a list or map whose values have no field ids" in message


@pytest.mark.parametrize(
    ("kind", "shown", "type_"),
    [
        ("void", "v", "void"),
        (array("interval month"), "v.element", "interval month"),
        (map_of("void", "long"), "v.key", "void"),
        (struct(schema_field("x", "y" * 1000)), "v.x", "y" * 100),
    ],
)
def test_a_type_that_iceberg_lacks_is_named_with_its_column(kind: Any, shown: str, type_: str) -> None:
    message = said(schema_field("v", kind))
    assert message.endswith(f"its column '{shown}' has the type {type_}, which Iceberg lacks")


def test_a_primitive_type_cannot_have_the_name_of_a_container() -> None:
    assert "has the type struct" in said(schema_field("v", "struct"))


def test_long_names_are_shortened() -> None:
    assert len(said(schema_field("n" * 10_000, "void"))) < 300


def test_a_change_that_both_formats_allow_is_read() -> None:
    changes = [{"fromType": "integer", "toType": "long"}, {"fromType": "byte", "toType": "integer"}]
    (found,) = read(schema_field("a", "long", **{"delta.typeChanges": changes})).fields
    assert found.type == "long"


def test_a_change_that_iceberg_lacks_is_named() -> None:
    change = {"fromType": "integer", "toType": "double", "fieldPath": "element"}
    inner = schema_field("x", array("double"), **{"delta.typeChanges": [change]})
    message = said(schema_field("s", struct(inner)))
    assert message.endswith("'s.x' was changed from integer to double, which Iceberg does not allow")


@pytest.mark.parametrize(
    "changes",
    [
        7,
        {"fromType": "byte"},
        [7],
        [None],
        [{}],
        [{"fromType": "byte"}],
        [{"fromType": 1, "toType": "long"}],
        [{"fromType": "byte", "toType": {}}],
    ],
)
def test_a_malformed_change_is_refused(changes: Any) -> None:
    message = said(schema_field("v", "long", **{"delta.typeChanges": changes}))
    assert "column 'v' has malformed changes of its type" in message


def test_a_change_is_shown_in_part() -> None:
    change = {"fromType": "x" * 10_000, "toType": "y" * 10_000}
    assert len(said(schema_field("v", "long", **{"delta.typeChanges": [change]}))) < 500


@pytest.mark.parametrize("id_", [0, -1, 2_147_483_447, 1 << 70, True, "3", 3.0, [3], {}])
def test_an_id_must_be_a_positive_number_that_is_not_reserved(id_: Any) -> None:
    assert "column 'v' has an invalid id" in said(mapped("v", "long", id_), **MAPPING)
    nested = {NESTED: {"col-v.element": id_}}
    assert "'v.element' has an invalid id" in said(mapped("v", array("long"), 1, **nested), **MAPPING)


@pytest.mark.parametrize("nested", [7, "x", ["col-v.element"]])
def test_malformed_nested_ids_are_refused(nested: Any) -> None:
    message = said(mapped("v", array("long"), 1, **{NESTED: nested}), **MAPPING)
    assert "column 'v' has malformed nested ids" in message
