"""Random filters over random Delta tables: the Iceberg catalog and Delta Sharing give the same rows.

A failure names the table's seed and the number of the filter, which together repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count, islice
from random import Random

import pytest
from pyiceberg.catalog.rest import RestCatalog
from support.filters.generate import RandomTable, random_filter, random_table
from support.filters.iceberg import pyiceberg_expression
from support.filters.kinds import KINDS
from support.filters.oracle import Row, comparable, matching
from support.filters.tree import ORDERS, Filter, Op, Test, leaves, shown, undisputed
from support.gateways.filtered_tables import SCHEMA, SHARE, FilteredTables, filtered_tables
from support.process.random_cases import cases

pytestmark = [
    pytest.mark.slow,
    # s3fs leaves the connections of its clients to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FILTERS = cases(20)  # of each table
REQUESTS = cases(40)  # more, as they are cheaper than scans
SEEDS = range(1000, 1000 + 25)  # tables, which together have all types
PLANNING = {"by itself": {}, "by the gateway": {"scan-planning-mode": "server"}}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredTables]:
    with filtered_tables(tmp_path_factory.mktemp("random-filters"), SEEDS) as running:
        yield running


@cache
def catalog(uri: str, token: str, planning: str) -> RestCatalog:
    """The share, as a recipient's PyIceberg finds it by the profile."""
    return RestCatalog("share", uri=uri, warehouse=SHARE, token=token, **PLANNING[planning])


def filters(table: RandomTable) -> Iterator[tuple[str, Filter]]:
    """The filters of a table, each with what repeats it."""
    for number in count():
        tree = random_filter(table, Random(f"{table.seed}-{number}"))
        yield f"table {table.seed}, filter {number}: {shown(tree)}", tree


def is_usable(table: RandomTable, planning: str, tree: Filter) -> bool:
    """Whether PyIceberg 0.12 evaluates a filter correctly."""
    return not any(is_misread(table, planning, test) for test in leaves(tree))


def is_misread(table: RandomTable, planning: str, test: Test) -> bool:
    """Whether PyIceberg 0.12 or Arrow evaluates a test wrongly.

    - A dot in the name of a column is taken for that of a struct when rows are filtered.
    - Partitions of null are compared by order when PyIceberg plans by itself: `ResidualVisitor` raises
      a TypeError.
    - Arrow skips a row group by its equal bounds, although NaN, which bounds leave out, can match.
    """
    column = test.column
    if "." in column.name:
        return True
    if column.is_partition and planning == "by itself" and test.op in ORDERS:
        return any(row[column.name] is None for row in table.rows)
    return any(len(numbers) == 1 for numbers in table.beside_nan(column))


def test_the_filters_have_all_tests_and_match_some_rows() -> None:
    """Otherwise, nothing could differ."""
    tables = [random_table(seed) for seed in SEEDS]
    columns = [column for table in tables for column in table.columns]
    assert {column.kind.delta for column in columns} == KINDS.keys()
    assert {len([each for each in table.columns if each.is_partition]) for table in tables} == {0, 1, 2}
    trees = [(table, tree) for table in tables for _, tree in islice(filters(table), FILTERS)]
    assert {test.op for _, tree in trees for test in leaves(tree)} == set(Op)
    matches = [(len(matching(table.rows, tree)), len(table.rows)) for table, tree in trees]
    assert sum(0 < found < rows for found, rows in matches) > len(trees) / 3


def comparable_rows(rows: Iterable[Row]) -> list[tuple[tuple[str, str], ...]]:
    return sorted(map(comparable, rows))


# For each change, each table is read in one of the ways, in turn.
READINGS = [
    pytest.param(
        seed,
        planning,
        marks=() if seed % 2 == turn else pytest.mark.night("test_pyiceberg_reads_the_rows_that_match"),
    )
    for seed in SEEDS
    for turn, planning in enumerate(PLANNING)
]


@pytest.mark.parametrize(("seed", "planning"), READINGS)
def test_pyiceberg_reads_the_rows_that_match(gateway: FilteredTables, seed: int, planning: str) -> None:
    name = f"t{seed}"
    table = gateway.tables[name]
    profile = gateway.profile
    found = catalog(profile["icebergEndpoint"], profile["bearerToken"], planning).load_table(
        (SCHEMA, name)
    )
    usable = ((which, tree) for which, tree in filters(table) if is_usable(table, planning, tree))
    for which, tree in islice(usable, FILTERS):
        row_filter = pyiceberg_expression(undisputed(tree))
        rows = found.scan(row_filter=row_filter).to_arrow().to_pylist()
        expected = comparable_rows(matching(table.rows, tree))
        assert comparable_rows(rows) == expected, which


@pytest.mark.parametrize("seed", SEEDS)
def test_files_of_delta_sharing_have_the_rows_that_match(gateway: FilteredTables, seed: int) -> None:
    name = f"t{seed}"
    table = gateway.tables[name]
    for which, tree in islice(filters(table), REQUESTS):
        rows = gateway.rows(name, gateway.named(name, tree))
        found = comparable_rows(matching(rows, tree))
        assert found == comparable_rows(matching(table.rows, tree)), which


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_name_no_more_files_than_delta_sharing(gateway: FilteredTables, seed: int) -> None:
    name = f"t{seed}"
    table = gateway.tables[name]
    everything = gateway.named(name)
    for which, tree in islice(filters(table), REQUESTS):
        planned, named = gateway.planned(name, tree), gateway.named(name, tree)
        assert len(set(planned)) == len(planned), which
        assert set(planned) <= named.keys(), which
        rows = gateway.rows(name, {file: everything[file] for file in planned})
        found = comparable_rows(matching(rows, tree))
        assert found == comparable_rows(matching(table.rows, tree)), which
