"""Random filters over random Delta tables: Spark's Iceberg client gives the rows that Delta Lake gives.

A failure names the table's seed and the number of the filter, which together repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.filters.generate import RandomTable, random_filter
from support.filters.oracle import comparable
from support.filters.spark_sql import condition
from support.filters.tree import Filter, Op, leaves, positive, shown
from support.gateways.filtered_tables import SCHEMA, SHARE, FilteredTables, filtered_tables
from support.process.random_cases import cases
from support.process.spark import require_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CATALOG = "spark.sql.catalog.random_filters"
READ_EVERYTHING = ("spark.sql.parquet.filterPushdown", "spark.databricks.delta.stats.skipping")
SEEDS = range(100, 100 + cases(4))
FILTERS = 10


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredTables]:
    require_spark()
    folder = tmp_path_factory.mktemp("random-filters")
    with filtered_tables(folder, SEEDS, for_pyiceberg=False) as running:
        yield running


@pytest.fixture(scope="module")
def shared(spark: SparkSession, gateway: FilteredTables) -> Iterator[SparkSession]:
    """Spark with the share as a catalog, as documented.

    It reads all rows of the Delta tables before it filters them. Parquet filters do not find the dates
    that the Julian calendar lacks (1582-10-05 to 1582-10-14), and delta-rs rounds the bounds of
    decimals, which Delta Lake takes for exact.
    """
    for setting in READ_EVERYTHING:
        spark.conf.set(setting, "false")
    spark.conf.set(CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    settings = {
        "type": "rest",
        "uri": gateway.profile["icebergEndpoint"],
        "warehouse": SHARE,
        "token": gateway.profile["bearerToken"],
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
    }
    for key, value in settings.items():
        spark.conf.set(f"{CATALOG}.{key}", value)
    yield spark
    for setting in READ_EVERYTHING:
        spark.conf.unset(setting)


@pytest.mark.parametrize("seed", SEEDS)
def test_spark_reads_the_rows_that_match(
    shared: SparkSession, gateway: FilteredTables, seed: int
) -> None:
    name = f"t{seed}"
    table = gateway.tables[name]
    delta = shared.read.format("delta").load(str(gateway.lake / name))
    iceberg = shared.table(f"random_filters.{SCHEMA}.{name}")
    trees = ((number, random_filter(table, Random(f"{seed}-{number}"))) for number in count())
    for number, tree in islice((each for each in trees if not skips_nan(table, each[1])), FILTERS):
        sql = condition(tree)
        expected, found = rows(delta.where(sql)), rows(iceberg.where(sql))
        assert found == expected, f"table {seed}, filter {number}: {shown(tree)}"


def skips_nan(table: RandomTable, tree: Filter) -> bool:
    """Whether Iceberg's Parquet reader skips rows of NaN that match.

    To Spark, NaN is the largest number. Iceberg 1.12 skips a row group whose largest number is below
    a literal, and bounds of delta-rs leave out NaN. The plan names the file.
    """
    return any(
        test.op in (Op.GREATER, Op.GREATER_OR_EQUAL)
        and any(
            max(numbers) <= test.literals[0] for numbers in table.beside_nan(test.column) if numbers
        )
        for test in leaves(positive(tree))
    )


def rows(frame: DataFrame) -> list[tuple[tuple[str, str], ...]]:
    """The rows of a query, in a form in which NaN equals itself."""
    return sorted(map(comparable, frame.toArrow().to_pylist()))
