"""Which rows can be compared, and the statement that changes them."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from sluicegate_spark.materialization.incremental.merging import merge_statement
from sluicegate_spark.materialization.incremental.row_changes import check_comparable
from sluicegate_spark.materialization.incremental.rules import RebuildRequired


def of_type(kind: object) -> StructType:
    field = {"name": "a", "type": kind, "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [field]})


def list_of(kind: object) -> dict[str, object]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def structure_of(kind: object) -> dict[str, object]:
    field = {"name": "b", "type": kind, "nullable": True, "metadata": {}}
    return {"type": "struct", "fields": [field]}


MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


@pytest.mark.parametrize(
    "kind",
    [
        *("string", "byte", "short", "integer", "long", "float", "double", "decimal(9,2)", "boolean"),
        *("date", "timestamp", "timestamp_ntz", "binary"),
        *(list_of("string"), structure_of(list_of("date"))),
    ],
)
def test_rows_of_most_types_are_compared(kind: object) -> None:
    check_comparable(of_type(kind))


@pytest.mark.parametrize(
    "kind",
    [MAP, list_of(MAP), structure_of(MAP), list_of("double"), structure_of("float"), "variant", "void"],
)
def test_rows_of_other_types_are_not(kind: object) -> None:
    with pytest.raises(RebuildRequired, match=r"values of the column 'a' of type .* can't be compared"):
        check_comparable(of_type(kind))


def test_texts_with_a_collation_are_not_compared() -> None:
    schema = StructType([StructField("a", StringType("UTF8_LCASE"))])
    with pytest.raises(RebuildRequired, match="of type string collate UTF8_LCASE"):
        check_comparable(schema)


def test_the_log_of_a_copy_shows_no_values_of_a_merge() -> None:
    schema = StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": "a `b`", "type": "string", "nullable": True, "metadata": {}},
                {"name": "x", "type": "double", "nullable": True, "metadata": {}},
            ],
        }
    )
    assert merge_statement("delta.`/copy`", schema) == (
        "MERGE INTO delta.`/copy` t USING sluicegate_changes s ON s.is_deletion "
        "AND t.`a ``b``` <=> s.`row`.`a ``b``` AND CAST(t.`x` AS STRING) <=> s.`row`.`x` "
        "WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND NOT s.is_deletion THEN INSERT (`a ``b```, `x`) "
        "VALUES (s.`row`.`a ``b```, CAST(s.`row`.`x` AS DOUBLE))"
    )
