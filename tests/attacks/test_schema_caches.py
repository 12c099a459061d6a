"""Tables with long schemas: what the gateway remembers of them has a bound of its own."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from sluicegate.protocols.delta_sharing.encoding.delta_features import AnsweredFeatures
from sluicegate.protocols.delta_sharing.encoding.parquet import plain_schema
from sluicegate.tables.canonical_partitions import canonical_partitions
from sluicegate.tables.features import primitive_types
from sluicegate.tables.partitions import partition_key
from sluicegate.tables.predicates.columns import find_column
from sluicegate.tables.snapshot import TableMetadata

TABLES, FIELDS = 60, 4_000
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
