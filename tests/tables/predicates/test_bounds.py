from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import deltalake
import orjson
import pyarrow as pa
import pytest
from support.tables.deltalog import DeltaFolder
from support.tables.snapshots import latest

from sluicegate.tables.predicates.bounds import saturated_bounds

LARGEST = "9223372036854775807"


def schema(kind: str, name: str = "amount") -> str:
    inner = {"name": name, "type": kind, "nullable": True, "metadata": {}}
    outer = {
        "name": "s",
        "type": {"type": "struct", "fields": [inner]},
        "nullable": True,
        "metadata": {},
    }
    return orjson.dumps({"type": "struct", "fields": [inner, outer]}).decode()


def without(stats: str | None, kind: str = "decimal(38,2)", name: str = "amount") -> str | None:
    files = pa.table({"path": ["a"], "stats": pa.array([stats], pa.string())})
    found: str | None = saturated_bounds(schema(kind, name)).without(files).column("stats")[0].as_py()
    return found


@pytest.mark.parametrize("bound", [LARGEST, f"-{LARGEST}", "-9223372036854775808", f"{LARGEST}.00"])
def test_a_bound_that_says_nothing_is_null(bound: str) -> None:
    text = '{"numRecords":1,"minValues":{"amount":1.5,"s":{"amount":%s}},"maxValues":{"amount":%s}}'
    assert without(text % (bound, bound)) == text % ("null", "null")


@pytest.mark.parametrize(
    "bound", ["9223372036854775806", f"{LARGEST}1", f"{LARGEST}.5", f"1{LARGEST}", "1e18"]
)
def test_other_bounds_stay(bound: str) -> None:
    text = f'{{"maxValues":{{"amount":{bound}}}}}'
    assert without(text) == text


@pytest.mark.parametrize("kind", ["decimal(20,2)", "long", "double"])
def test_types_without_more_values_keep_their_bounds(kind: str) -> None:
    text = f'{{"maxValues":{{"amount":{LARGEST}}}}}'
    assert without(text, kind) == text


def test_texts_and_other_columns_stay() -> None:
    text = orjson.dumps({"maxValues": {"t": f'"amount":{LARGEST}', "n": int(LARGEST)}}).decode()
    assert without(text) == text


def test_names_are_no_pattern() -> None:
    assert without(f'{{"maxValues":{{"a.b\\"":{LARGEST}}}}}', name='a.b"') == (
        '{"maxValues":{"a.b\\"":null}}'
    )
    text = f'{{"maxValues":{{"aXb":{LARGEST}}}}}'
    assert without(text, name="a.b") == text


def test_files_without_statistics_have_none() -> None:
    assert without(None) is None


async def test_delta_rs_writes_such_bounds(tmp_path: Path) -> None:
    amount = Decimal(10) ** 20
    rows = pa.table({"amount": pa.array([amount, -amount], pa.decimal128(38, 0))})
    deltalake.write_deltalake(tmp_path, rows)
    snapshot = await latest(DeltaFolder(tmp_path))
    [files] = snapshot.files.batches(10)
    table = pa.table(files) if not isinstance(files, pa.Table) else files
    [text] = (
        saturated_bounds(snapshot.metadata.schema_string).without(table).column("stats").to_pylist()
    )
    stats = orjson.loads(text)
    assert (stats["minValues"], stats["maxValues"]) == ({"amount": None}, {"amount": None})
    assert stats["numRecords"] == 2
