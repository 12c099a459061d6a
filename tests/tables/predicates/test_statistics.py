"""What bounds and counts of nulls prove, file by file; and what they do not."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from support.tables.deltalog import DeltaFolder
from support.tables.filesets import file_set, kept, schema_field, table_metadata
from support.tables.snapshots import latest

from sluicegate.tables.predicates import from_hints, prune

METADATA = table_metadata(
    [
        schema_field("flag", "boolean"),
        schema_field("i", "integer"),
        schema_field("l", "long"),
        schema_field("f", "float"),
        schema_field("x", "double"),
        schema_field("widened", "double", **{"delta.typeChanges": [{"fromType": "float"}]}),
        schema_field("s", "string"),
        schema_field("collated", "string", __COLLATIONS={"collated": "spark.UTF8_LCASE"}),
        schema_field("padded", "string", __CHAR_VARCHAR_TYPE_STRING="char(10)"),
        schema_field("d", "date"),
        schema_field("t", "timestamp"),
        schema_field("n", "timestamp_ntz"),
        schema_field("small", "decimal(10,2)"),
        schema_field("large", "decimal(38,2)"),
        schema_field("bytes", "binary"),
        schema_field("outer", {"type": "struct", "fields": [schema_field("inner", "long")]}),
        schema_field("dotted.name", "long"),
    ]
)


def stats(column: str, least: Any, most: Any, nulls: int = 0, records: int = 10) -> str:
    return json.dumps(
        {
            "numRecords": records,
            "minValues": {column: least},
            "maxValues": {column: most},
            "nullCount": {column: nulls},
        }
    )


def is_kept(hint: str, text: str | None) -> bool:
    return kept(file_set([("{}", text)]), METADATA, hint) == {0}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("i = 10", True),
        ("i = 9", False),
        ("i = 21", False),
        ("9 = i", False),
        ("i < 10", False),
        ("i <= 10", True),
        ("i > 20", False),
        ("i >= 20", True),
        ("20 < i", False),
        ("20 <= i", True),
        ("i <> 10", True),
        ("NOT (i >= 10)", False),
        ("NOT (i > 10)", True),
        ("NOT (i < 21)", False),
        ("NOT NOT i < 10", False),
        ("i IN (1, 2, 30)", False),
        ("i IN (1, 15)", True),
        ("i NOT IN (1, 15)", True),
        ("i BETWEEN 1 AND 9", False),
        ("i NOT BETWEEN 10 AND 20", False),
        ("i > 20 OR i < 10", False),
        ("i > 20 OR unheard_of = 1", True),
        ("i > 20 AND unheard_of = 1", False),
        ("NOT (i > 20 OR unheard_of = 1)", True),
        ("NOT (i <= 20 AND unheard_of = 1)", True),
        ("NOT (i <= 20 OR unheard_of = 1)", False),
        ("i > 9.5", True),
        ("i > 20.5", False),
        ("i < 9.5", False),
        ("i = '21'", False),
        ("i = '2x'", True),
        ("i = NULL", False),
        ("i IS NULL", False),
        ("i IS NOT NULL", True),
        ("i <=> 21", False),
        ("I = 21", False),
        ("`i` = 21", False),
        ("CAST(i AS BIGINT) = 21", False),
        ("CAST(i AS STRING) = '21'", True),
        ("l = 21", True),  # no statistics of that column
        ("i = l", True),
        ("99999999999999999999 = i", True),
    ],
)
def test_integers_between_ten_and_twenty(hint: str, expected: bool) -> None:
    assert is_kept(hint, stats("i", 10, 20)) is expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("i = 5", False),
        ("i <> 5", False),
        ("NOT (i = 5)", False),
        ("i IS NULL", True),
        ("i IS NOT NULL", False),
        ("i = 5 OR i IS NULL", True),
        ("i <=> 5", False),
        ("i <=> NULL", True),
    ],
)
def test_a_column_with_nothing_but_nulls(hint: str, expected: bool) -> None:
    text = json.dumps({"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"i": 3}})
    assert is_kept(hint, text) is expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [("i <> 7", False), ("NOT (i = 7)", False), ("i NOT IN (1, 7)", False), ("i NOT IN (1, 8)", True)],
)
def test_a_column_of_one_value(hint: str, expected: bool) -> None:
    assert is_kept(hint, stats("i", 7, 7, nulls=2)) is expected


@pytest.mark.parametrize(
    ("column", "bounds", "hint", "expected"),
    [
        ("flag", (False, False), "flag", False),
        ("flag", (False, False), "NOT flag", True),
        ("flag", (False, True), "flag = true", True),
        ("l", (1 << 53, 1 << 53), f"l = {(1 << 53) + 1}", False),
        ("l", ((1 << 63) - 1,) * 2, f"l > {(1 << 63) - 2}", True),
        ("l", ((1 << 63) - 1,) * 2, f"l < {(1 << 63) - 1}", False),
        ("l", (1, 1 << 70), "l = 2", True),
        ("l", (1 << 32, 1 << 32), "CAST(l AS INT) = 5", True),  # Spark cuts off the upper bits
        ("l", (5 - (1 << 32),) * 2, "CAST(l AS INT) = 5", True),
        ("l", (-(1 << 31), (1 << 31) - 1), "CAST(l AS INT) > 5", True),
        ("l", (-(1 << 31), 4), "CAST(l AS INT) = 5", False),
        ("l", (6, (1 << 31) - 1), "CAST(l AS INT) = 5", False),
        ("l", (-(1 << 31) - 1, 4), "CAST(l AS INT) = 5", True),
        ("l", (6, 1 << 31), "CAST(l AS INT) = 5", True),
        ("l", (6, 9), "CAST(l AS INT) = 5", False),
        ("l", ((1 << 53) + 1,) * 2, f"CAST(l AS DOUBLE) = {1 << 53}.0", True),  # when rounded
        ("l", ((1 << 53) + 1,) * 2, f"CAST(l AS DECIMAL(20,0)) = {1 << 53}.0", True),
        ("l", ((1 << 24) + 1,) * 2, f"CAST(l AS FLOAT) = {1 << 24}", True),
        ("l", ((1 << 24) + 9,) * 2, f"CAST(l AS FLOAT) = {1 << 24}", False),
        ("x", (1.5, 2.5), "x < 1.5", False),
        ("x", (1.5, 2.5), "x = 2.6", False),
        ("x", (1.5, 2.5), "x > 3", True),  # NaN may be hidden, and is larger to Spark
        ("x", (1.5, 2.5), "NOT (x <= 3)", True),
        ("x", (1.5, 2.5), "NOT (x >= 1)", True),  # to other clients NaN >= 1 is false
        ("x", (1.5, "NaN"), "x = 2.6", True),
        ("x", ("-Infinity", 2.5), "x < -1e300", True),
        ("x", (1.5, 2.5), "x = CAST('NaN' AS DOUBLE)", True),
        ("x", (1e300, 1e300), "CAST(x AS FLOAT) = CAST('Infinity' AS FLOAT)", True),
        ("x", (1.5, 2.5), "CAST(x AS FLOAT) = CAST('Infinity' AS FLOAT)", False),
        ("f", (0.1, 0.1), "f = 0.1D", True),
        ("f", (0.1, 0.1), "f < 0.09", False),
        ("f", (0.1, 0.1), "CAST(f AS DOUBLE) <= 0.1D", True),
        ("widened", (0.1, 0.1), "widened = 0.10000000149011612", True),
        ("s", ("b", "d"), "s < 'b'", False),
        ("s", ("b", "d"), "s >= 'e'", False),
        ("s", ("b", "d"), "s = 'it''s'", False),
        ("s", ("b", "d"), "s = 5", True),
        ("s", ("a" * 32, "a" * 32 + "\ufffd"), f"s > '{'a' * 32}\U0001f600'", True),
        ("s", ("a" * 32, "a" * 32 + "\ufffd"), f"s > '{'a' * 31}b'", False),
        ("s", ("a", "a" * 32), f"s > '{'a' * 40}'", True),  # cut without a tie-breaker
        ("s", ("a" * 31 + "?", "a" * 31 + "?\ufffd"), f"s = '{'a' * 31}\U0001f600'", True),
        ("s", ("\ue000", "\ue000"), "s > '\U0001f600'", False),  # by code points, not UTF-16
        ("collated", ("b", "d"), "collated = 'B'", True),
        ("collated", ("b", "d"), "collated IS NULL", False),
        ("padded", ("b  ", "d  "), "padded = 'b'", True),
        ("d", ("2021-03-04", "2021-03-05"), "d > '2021-03-05'", False),
        ("d", ("2021-03-04", "2021-03-05"), "d = DATE '2021-03-05'", True),
        ("d", ("2021-03-04", "2021-03-05"), "d = 'yesterday'", True),
        ("d", ("2021-03-04", "2021-03-05"), "d > TIMESTAMP '2021-03-05 01:00:00Z'", True),
        ("d", ("2021-03-04", "2021-03-05"), "d > TIMESTAMP '2021-03-07 00:00:00Z'", False),
        ("t", ("2021-03-04T05:06:07.123Z",) * 2, "t > '2021-03-04T05:06:07.123500Z'", True),
        ("t", ("2021-03-04T05:06:07.123Z",) * 2, "t > '2021-03-04T05:06:07.126Z'", False),
        ("t", ("2021-03-04T05:06:07-07:00",) * 2, "t < '2021-03-04T12:00:00Z'", False),
        ("t", ("2021-03-04T05:06:07Z",) * 2, "t > '2021-03-04 12:00:00'", True),  # in which zone?
        ("t", ("2021-03-04T05:06:07Z",) * 2, "t > '2021-03-05 12:00:00'", False),
        ("t", ("2021-03-04T07:00:00Z",) * 2, "t >= DATE '2021-03-05'", True),
        ("t", ("2021-03-04T05:06:07Z",) * 2, "t >= DATE '2021-03-06'", False),
        ("n", ("2021-03-04T05:06:07.000",) * 2, "n > '2021-03-04T05:06:08'", False),
        ("n", ("2021-03-04T05:06:07.000",) * 2, "n > '2021-03-04T05:06:08Z'", True),
        (
            "n",
            ("2021-03-04T05:06:07.000",) * 2,
            "n = DATE '2021-03-04'",
            True,
        ),  # as a day, or as midnight
        ("n", ("2021-03-04T05:06:07.000",) * 2, "n = DATE '2021-03-03'", False),
        ("n", ("2021-03-04T05:06:07.000",) * 2, "n >= DATE '2021-03-05'", False),
        ("small", (1.1, 2.2), "small < 1.10", False),
        ("small", (1.1, 2.2), "small <= 1.1", True),
        ("small", (1.1, 2.2), "small > 2.2", False),
        ("small", (1.1, 2.2), "small = 2.205", True),
        ("small", (1.1, 2.2), "small = 2.215", False),
        ("bytes", ("a", "b"), "bytes = 'c'", True),
        ("bytes", ("a", "b"), "bytes IS NULL", False),
        ("outer", ({"inner": 1}, {"inner": 5}), "outer.inner > 5", False),
        ("outer", ({"inner": 1}, {"inner": 5}), "outer.inner > 4", True),
        ("outer", ({"inner": 1}, {"inner": 5}), "outer > 5", True),
        ("dotted.name", (1, 5), "`dotted.name` > 5", False),
        ("dotted.name", (1, 5), "dotted.name > 5", True),
    ],
)
def test_types(column: str, bounds: tuple[Any, Any], hint: str, expected: bool) -> None:
    assert is_kept(hint, stats(column, *bounds)) is expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("large > 12345678901234567890.12BD", False),
        ("large >= 12345678901234567890.12BD", True),
        ("large = 12345678901234567890.13BD", False),
        ("large > 12345678901234567890.12D", True),
    ],
)
def test_decimals_beyond_doubles_are_compared_exactly(hint: str, expected: bool) -> None:
    number = "12345678901234567890.12"
    text = f'{{"numRecords":1,"minValues":{{"large":{number}}},"maxValues":{{"large":{number}}}}}'
    assert is_kept(hint, text) is expected


def test_decimals_that_a_writer_rounded_to_doubles_are_not_trusted_to_the_last_digit() -> None:
    rounded = stats("large", 1234567890123456.8, 1234567890123456.8)
    assert is_kept("large = 1234567890123456.78BD", rounded)
    assert not is_kept("large = 1234567890123459.00BD", rounded)


@pytest.mark.parametrize("bound", [2**63 - 1, 1 - 2**63, -(2**63)])
def test_a_decimal_bound_where_64_bits_end_is_none(bound: int) -> None:
    """delta-rs 1.6 writes it for each value beyond, both as the minimum and as the maximum."""
    beyond = f"{bound * 100}BD"
    assert is_kept(f"large = {beyond}", stats("large", bound, bound))
    assert is_kept(f"large {'>' if bound > 0 else '<'} {beyond}", stats("large", bound, bound))
    other, sign = (7, "<") if bound > 0 else (-7, ">")
    assert not is_kept(f"large {sign} {other}BD", stats("large", *sorted((other, bound))))
    assert not is_kept(f"l = {bound // 2}", stats("l", bound, bound))  # it has no values beyond


async def test_decimals_beyond_64_bits_are_found_in_tables_of_delta_rs(tmp_path: Path) -> None:
    amount = Decimal(10) ** 20
    rows = pa.table({"amount": pa.array([amount, -amount], pa.decimal128(38, 0))})
    deltalake.write_deltalake(tmp_path, rows)
    snapshot = await latest(DeltaFolder(tmp_path))
    for hint in (f"amount >= {amount}BD", f"amount <= -{amount}BD"):
        predicate = from_hints(None, [hint])
        assert predicate is not None
        assert len(prune(snapshot.files, snapshot.metadata, predicate)) == 1


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        '{"numRecords": 3}',
        '{"minValues": [], "maxValues": 3, "nullCount": "x"}',
        stats("i", "10", "20"),
        stats("i", 10.5, 20.5),
        stats("i", True, True),
        stats("i", {"x": 1}, None),
        stats("i", 20, 10),
        "[" * 100_000,
    ],
)
def test_files_whose_statistics_say_nothing_are_kept(text: str | None) -> None:
    assert is_kept("i = 5", text)


@pytest.mark.parametrize("counts", [{"numRecords": 3}, {"numRecords": "3", "nullCount": {"i": 3}}])
def test_without_both_counts_nulls_are_unknown(counts: dict[str, Any]) -> None:
    assert is_kept("i IS NULL", json.dumps(counts))
    assert is_kept("i IS NOT NULL", json.dumps(counts))


def test_wide_bounds_of_files_with_deletion_vectors_are_bounds() -> None:
    text = json.dumps(json.loads(stats("i", 10, 20, nulls=3)) | {"tightBounds": False})
    assert not is_kept("i > 20", text)
    assert is_kept("i IS NULL", text)
    assert is_kept("i = 15", text)


def test_statistics_of_mapped_columns_have_physical_names() -> None:
    inner = schema_field("inner", "long", **{"delta.columnMapping.physicalName": "col-2"})
    fields = [
        schema_field(
            "outer",
            {"type": "struct", "fields": [inner]},
            **{"delta.columnMapping.physicalName": "col-1"},
        )
    ]
    mapped = table_metadata(fields, **{"delta.columnMapping.mode": "id"})
    files = file_set([("{}", stats("col-1", {"col-2": low}, {"col-2": low + 9})) for low in (0, 10)])
    assert kept(files, mapped, "outer.inner = 12") == {1}
    assert kept(files, mapped, "`col-1`.`col-2` = 12") == {0, 1}


def test_a_long_list_is_searched_as_a_short_one_is_compared() -> None:
    files = file_set(
        [("{}", stats("i", low, low + 4)) for low in range(0, 1000, 5)]
        + [("{}", stats("i", None, 7)), ("{}", stats("i", 7, None)), ("{}", stats("i", 7, 7))]
    )
    numbers = [*range(3, 700, 10), 7]
    members = ", ".join(map(str, numbers))
    reached = {low // 5 for low in range(0, 1000, 5) if any(low <= n <= low + 4 for n in numbers)}
    assert kept(files, METADATA, f"i IN ({members})") == reached | {200, 201, 202}
    assert kept(files, METADATA, f"i NOT IN ({members})") == set(range(202))


@pytest.mark.parametrize("sign", ["", "-"])
def test_decimals_of_more_than_38_digits_prove_nothing(sign: str) -> None:
    """No value of the column has them: the engine decides what such a comparison is."""
    beyond = "<" if sign else ">"
    assert not is_kept(f"large {beyond} {sign}{'9' * 36}.99BD", stats("large", 1, 2))
    assert is_kept(f"large {beyond} {sign}1{'0' * 36}.00BD", stats("large", 1, 2))


def test_overlapping_spans_of_a_long_list_keep_what_short_lists_keep() -> None:
    """Fractions with more digits than a double has are spans: some overlap, some are nested."""
    base = 10**17
    starts = range(base, base + 30_000, 1000)
    lists = [
        [f"{start}.5" for start in starts],
        [str(start + 20) for start in starts],
        [f"{start + 100}.5" for start in starts],
    ]
    files = file_set([("{}", stats("l", low, low + 2)) for low in range(base - 400, base + 31_000, 11)])
    short = [kept(files, METADATA, f"l IN ({', '.join(members)})") for members in lists]
    together = ", ".join(member for members in lists for member in members)
    assert kept(files, METADATA, f"l IN ({together})") == short[0] | short[1] | short[2]
    assert short[1] < short[0]
    assert short[0] & short[2]
    assert 0 < len(short[0] | short[2]) < len(files) / 2
