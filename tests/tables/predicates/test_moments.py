"""Moments with a zone are exact: exactly those files are kept that may have a matching row."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from support.tables.filesets import file_set, kept, schema_field, table_metadata

METADATA = table_metadata([schema_field("t", "timestamp"), schema_field("p", "timestamp")], ["p"])
COMPARISONS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "<": ("lessThan", operator.lt),
    "<=": ("lessThanOrEqual", operator.le),
    "=": ("equal", operator.eq),
    ">": ("greaterThan", operator.gt),
    ">=": ("greaterThanOrEqual", operator.ge),
}
# Microseconds since 1970, of rows and of literals, around thousandths of a second and around 1970.
AROUND = [-2000, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 2000]
CENTERS = {"1970": 0, "before 1970": -3_600_000_000, "after 1970": 1_600_000_000_000_000}


def text(micros: int, timespec: str = "microseconds") -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def stats(micros: int) -> str:
    """Of a file with one row, as writers round them: down to milliseconds."""
    bound = text(micros - micros % 1000, "milliseconds")
    return json.dumps({"numRecords": 1, "minValues": {"t": bound}, "maxValues": {"t": bound}})


def rows_like(micros: int) -> Iterable[int]:
    """Rows that have the same statistics."""
    floor = micros - micros % 1000
    return range(floor, floor + 1000)


def cut(micros: int) -> int:
    """What Spark's client makes of a literal of JSON hints: milliseconds, cut towards 1970."""
    return int(micros / 1000) * 1000


def meant(literal: int) -> Iterable[int]:
    """Literals that Spark's client sends alike."""
    return [each for each in range(literal - 999, literal + 1000) if cut(each) == literal]


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("symbol", COMPARISONS)
def test_sql_literals_keep_exactly_the_files_that_can_match(symbol: str, center: str) -> None:
    _, matches = COMPARISONS[symbol]
    values = [CENTERS[center] + offset for offset in AROUND]
    by_stats = file_set([("{}", stats(value)) for value in values])
    by_partition = file_set([(json.dumps({"p": text(value)}), None) for value in values])
    for literal in values:
        for spelled in (f"'{text(literal)}'", f"TIMESTAMP '{text(literal)}'"):
            expected = {
                number
                for number, value in enumerate(values)
                if any(matches(row, literal) for row in rows_like(value))
            }
            assert kept(by_stats, METADATA, f"t {symbol} {spelled}") == expected
            expected = {number for number, value in enumerate(values) if matches(value, literal)}
            assert kept(by_partition, METADATA, f"p {symbol} {spelled}") == expected


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("symbol", COMPARISONS)
def test_json_literals_keep_exactly_what_the_client_can_mean(symbol: str, center: str) -> None:
    name, matches = COMPARISONS[symbol]
    values = [CENTERS[center] + offset for offset in AROUND]
    by_stats = file_set([("{}", stats(value)) for value in values])
    by_partition = file_set([(json.dumps({"p": text(value)}), None) for value in values])
    for literal in sorted({cut(value) for value in values}):

        def tree(column: str, value: str) -> str:
            leaf = {"op": "column", "name": column, "valueType": "timestamp"}
            other = {"op": "literal", "value": value, "valueType": "timestamp"}
            return json.dumps({"op": name, "children": [leaf, other]})

        possible = list(meant(literal))
        ends = min(possible), max(possible)
        shown = text(literal, "milliseconds")
        for spelled in {shown, shown.replace(".000Z", "Z")}:  # as java.time.Instant shows them
            expected = {
                number
                for number, value in enumerate(values)
                if any(matches(row, each) for row in rows_like(value) for each in ends)
                or (symbol == "=" and set(rows_like(value)) & set(possible))
            }
            assert kept(by_stats, METADATA, json_hint=tree("t", spelled)) == expected
            expected = {
                number
                for number, value in enumerate(values)
                if any(matches(value, each) for each in possible)
            }
            assert kept(by_partition, METADATA, json_hint=tree("p", spelled)) == expected


@pytest.mark.parametrize("value", ["2021-03-04T05:06:07.123456Z", "2021-03-04T06:06:07.123456+01:00"])
def test_json_literals_that_nothing_was_cut_from_are_exact(value: str) -> None:
    files = file_set([('{"p": "2021-03-04T05:06:07.123456Z"}', None)])
    for name, expected in (("lessThan", set()), ("lessThanOrEqual", {0}), ("greaterThan", set())):
        leaf = {"op": "column", "name": "p", "valueType": "timestamp"}
        other = {"op": "literal", "value": value, "valueType": "timestamp"}
        tree = json.dumps({"op": name, "children": [leaf, other]})
        assert kept(files, METADATA, json_hint=tree) == expected


def test_nanoseconds_of_a_literal_count() -> None:
    files = file_set([('{"p": "2021-03-04T05:06:07.123456Z"}', None)])
    assert kept(files, METADATA, "p < '2021-03-04T05:06:07.123456001Z'") == {0}
    assert kept(files, METADATA, "p < '2021-03-04T05:06:07.123456000Z'") == set()
    assert kept(files, METADATA, "p < '2021-03-04T05:06:07.123455999Z'") == set()


def test_literals_without_a_zone_are_read_widely() -> None:
    files = file_set([('{"p": "2021-03-04T05:06:07Z"}', None)])
    assert kept(files, METADATA, "p < '2021-03-04 05:06:07'") == {0}
    assert kept(files, METADATA, "p < TIMESTAMP '2021-03-03 11:06:08'") == {0}
    assert kept(files, METADATA, "p < '2021-03-03 11:06:07'") == set()
