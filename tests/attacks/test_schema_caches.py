"""Tables with long schemas: what the gateway remembers of them has a bound of its own."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from sluicegate.api import InvalidRequest
from sluicegate.protocols.delta_sharing.encoding.delta_features import AnsweredFeatures
from sluicegate.protocols.delta_sharing.encoding.parquet import plain_schema
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.tables.canonical_partitions import canonical_partitions
from sluicegate.tables.features import primitive_types
from sluicegate.tables.iceberg.shape import Field, IcebergShape, Struct
from sluicegate.tables.partitions import partition_key
from sluicegate.tables.predicates.columns import find_column
from sluicegate.tables.snapshot import TableMetadata

TABLES, FIELDS = 40, 4_000
FIELD = (
    '{"name":"#-%d","type":"long","nullable":true,'
    '"metadata":{"delta.columnMapping.physicalName":"physical-#-%d"}}'
)
FIELDS_TEXT = ",".join(FIELD % (number, number) for number in range(FIELDS))


def schema(number: int) -> str:
    """The schema of a table, half a megabyte long."""
    return f'{{"type":"struct","fields":[{FIELDS_TEXT.replace("#", str(number))}]}}'


def metadata(text: str) -> TableMetadata:
    """A table with this schema."""
    return TableMetadata("t", text, ("p",), {"delta.columnMapping.mode": "name"})


@pytest.mark.parametrize(
    ("remembered", "most"),
    [
        (plain_schema, 16_000_000),
        (primitive_types, 16_000_000),
        (lambda text: partition_key(metadata(text), "p"), 32_000_000),
        (lambda text: find_column(metadata(text), ("p",)), 64_000_000),
        (lambda text: canonical_partitions(metadata(text)), 32_000_000),
        (lambda text: AnsweredFeatures.of((), (), [metadata(text)]), 16_000_000),
    ],
    ids=["plain schemas", "types", "names", "columns", "partition values", "features"],
)
def test_long_schemas_of_many_tables_take_no_memory_for_good(
    remembered: Callable[[str], object], most: int
) -> None:
    tracemalloc.start()
    try:
        for number in range(TABLES):
            remembered(schema(number))
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < most
    finally:
        tracemalloc.stop()


def test_a_long_name_is_not_repeated_for_each_field_below_it() -> None:
    fields = tuple(Field(number, f"f{number}", "int", "") for number in range(2, 2_002))
    struct = Field(1, "n" * 100_000, Struct(fields), "")
    columns = Columns(IcebergShape(Struct((struct,)), (), 2_002, 2), case_sensitive=False)
    tracemalloc.start()
    try:
        found = columns.find(f"{struct.name}.F7", "filter")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert found.field.id == 7


def test_a_name_with_many_periods_is_looked_up_once_in_each_struct() -> None:
    column = Field(200, "a", "int", "")
    for number in range(60):
        other = Field(100 + number, "a.a" if number > 1 else "b", Struct(()), "")
        column = Field(number, "a", Struct((column, other)), "")
    columns = Columns(IcebergShape(Struct((column,)), (), 200, 2), case_sensitive=True)
    assert columns.find(".".join("a" * 61), "filter").field.id == 200
    with pytest.raises(InvalidRequest, match="no column named"):
        columns.find(".".join("a" * 5_000), "filter")
