"""Statistics that a checkpoint has as structs only, against the same as the log has them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest
from support.tables.deltalog import ADD, DeltaFolder, add, metadata, protocol
from support.tables.reader_tables.tables import ReaderTables, served_tables
from support.tables.snapshots import latest, rows

from sluicegate.tables.delta.log_files.columns import stats_texts

MOMENT = datetime(2021, 3, 4, 5, 6, 7, 89_999, UTC)


@pytest.mark.parametrize(
    ("value", "kind", "json"),
    [
        (7, pa.int64(), "7"),
        (-128, pa.int8(), "-128"),
        (True, pa.bool_(), "true"),
        (1.5, pa.float64(), "1.5"),
        (1e300, pa.float64(), "1e+300"),
        (0.1, pa.float32(), "0.1"),
        (float("nan"), pa.float64(), '"NaN"'),
        (float("inf"), pa.float64(), '"Infinity"'),
        (float("-inf"), pa.float32(), '"-Infinity"'),
        (Decimal("12.3400"), pa.decimal128(10, 4), "12.3400"),
        (Decimal("0.00000001"), pa.decimal128(20, 8), "1E-8"),
        (Decimal(-(10**38) + 1), pa.decimal128(38, 0), "-" + "9" * 38),
        (date(2021, 3, 4), pa.date32(), '"2021-03-04"'),
        (date(1, 1, 1), pa.date32(), '"0001-01-01"'),
        (MOMENT, pa.timestamp("us", "UTC"), '"2021-03-04T05:06:07.089Z"'),
        (MOMENT.replace(tzinfo=None), pa.timestamp("us"), '"2021-03-04T05:06:07.089"'),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999), pa.timestamp("ns"), '"1969-12-31T23:59:59.999"'),
        ("plain", pa.string(), '"plain"'),
        ('q"\\\n\x01ü✓', pa.string(), '"q\\"\\\\\\n\\u0001ü✓"'),
        ("", pa.string(), '""'),
    ],
)
def test_a_value_is_spelled_as_in_the_log(value: Any, kind: pa.DataType, json: str) -> None:
    bounds = pa.struct({"a b.c": kind, "none": kind})
    column = pa.array(
        [{"numRecords": 1, "minValues": {"a b.c": value, "none": None}}, {"minValues": {}}, None],
        pa.struct({"numRecords": pa.int64(), "minValues": bounds}),
    )
    texts = stats_texts(column).to_pylist()
    assert texts == [f'{{"numRecords":1,"minValues":{{"a b.c":{json}}}}}', '{"minValues":{}}', None]
    orjson.loads(texts[0])


def test_nested_columns_stay_nested_and_unknown_types_are_left_out() -> None:
    variant = pa.struct({"metadata": pa.binary(), "value": pa.binary()})
    kind = pa.struct(
        {
            "numRecords": pa.int64(),
            "tightBounds": pa.bool_(),
            "maxValues": pa.struct(
                {
                    "s": pa.struct({"t": pa.struct({"u": pa.int32()})}),
                    "v": variant,
                    "l": pa.list_(pa.int32()),
                }
            ),
        }
    )
    value = {
        "numRecords": 2,
        "tightBounds": False,
        "maxValues": {"s": {"t": {"u": 3}}, "v": {"metadata": b"1", "value": b"2"}, "l": [1]},
    }
    [text] = stats_texts(pa.array([value], kind)).to_pylist()
    assert orjson.loads(text) == {
        "numRecords": 2,
        "tightBounds": False,
        "maxValues": {"s": {"t": {"u": 3}}, "v": {}},
    }


def test_slices_and_filtered_columns_keep_to_their_own_rows() -> None:
    column = pa.array(
        [{"numRecords": n} if n % 3 else None for n in range(9)], pa.struct({"numRecords": pa.int64()})
    )
    mask = pa.array([n % 2 == 0 for n in range(9)])
    expected = [None, '{"numRecords":2}', '{"numRecords":4}', None, '{"numRecords":8}']
    assert stats_texts(column.filter(mask)).to_pylist() == expected
    assert stats_texts(column.slice(3, 3)).to_pylist() == [None, '{"numRecords":4}', '{"numRecords":5}']


STRUCT_ONLY = {
    **{name: kind for name, kind in ADD.items() if name != "stats"},
    "stats_parsed": pa.struct({"numRecords": pa.int64()}),
}
BOTH = {**ADD, "stats_parsed": pa.struct({"numRecords": pa.int64()})}


@pytest.mark.parametrize("footer", [True, False], ids=["null counts", "no null counts"])
@pytest.mark.parametrize(
    ("fields", "adds", "expected"),
    [
        (STRUCT_ONLY, [add("a", stats_parsed={"numRecords": 3}), add("b")], [{"numRecords": 3}, None]),
        (BOTH, [add("a", stats_parsed={"numRecords": 3}), add("b")], [{"numRecords": 3}, None]),
        (BOTH, [add("a", stats='{"x":1}', stats_parsed={"numRecords": 3})], [{"x": 1}]),
    ],
)
async def test_a_checkpoint_with_struct_stats_gives_json_stats(
    folder: DeltaFolder,
    fields: dict[str, pa.DataType],
    adds: list[dict[str, Any]],
    expected: list[Any],
    footer: bool,
) -> None:
    folder.commit(0, protocol(), metadata(), *adds)
    name = f"{0:020}.checkpoint.parquet"
    folder.parquet(name, [protocol(), metadata(), *adds], fields, write_statistics=footer)
    assert [row["stats"] for row in rows(await latest(folder))] == expected


STATISTICS = [
    name for name in ("statistics", "data-skipping-basic-stats-all-types") if name in served_tables()
]
BOUNDS = {
    "integer": pa.int32(),
    "long": pa.int64(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(1,0)": pa.decimal128(1, 0),
}


@pytest.mark.parametrize("name", STATISTICS)
async def test_struct_stats_of_all_types_equal_the_logs_json(tables: ReaderTables, name: str) -> None:
    """JSON statistics of every type as Spark writes them, put through structs, come out the same."""
    snapshot = await latest(DeltaFolder(tables.table(name).location))
    [row] = rows(snapshot)
    fields = orjson.loads(snapshot.metadata.schema_string)["fields"]
    assert {field["type"] for field in fields} == set(BOUNDS)
    bounds = pa.struct({field["name"]: BOUNDS[field["type"]] for field in fields})
    assert set(row["stats"]["minValues"]) == set(row["stats"]["maxValues"]) == set(bounds.names)
    counts = pa.struct({name: pa.int64() for name in row["stats"]["nullCount"]})
    members = {"numRecords": pa.int64(), "minValues": bounds, "maxValues": bounds, "nullCount": counts}
    kind = pa.struct([(name, members.get(name, pa.bool_())) for name in row["stats"]])
    [text] = stats_texts(pa.array([typed(row["stats"], kind)], kind)).to_pylist()
    assert instants(orjson.loads(text)) == instants(row["stats"])


def typed(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, dict):
        return {name: typed(part, kind.field(name).type) for name, part in value.items()}
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    if pa.types.is_date(kind):
        return date.fromisoformat(value)
    return Decimal(value) if pa.types.is_decimal(kind) else value


def instants(stats: Any) -> Any:
    """The same with timestamps of any zone in UTC."""
    if isinstance(stats, dict):
        return {name: instants(part) for name, part in stats.items()}
    if isinstance(stats, str) and "T" in stats:
        return datetime.fromisoformat(stats).astimezone(UTC)
    return stats
