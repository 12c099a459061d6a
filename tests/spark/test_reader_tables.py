"""The suite's own reader tables, read by Spark: the expected rows, and the expected errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.process.random_cases import one_of
from support.tables.reader_tables.of_faults import FOLDER
from support.tables.reader_tables.own import OWN
from support.tables.reader_tables.tables import ReaderTables
from support.tables.rows import rows_in

from sluicegate.cli.demo.reading import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READABLE = [
    name
    for name, table in OWN.items()
    if table.served.unreadable is None and table.served.stand_ins is None
]
# An empty text means null (Delta protocol, "Partition Value Serialization"); in a column of strings
# Spark reads it as it is.
READABLE.remove("partitions-of-empty-texts")
UNREADABLE = {
    "fault-reader-version": "requires reader version 99",
    "fault-no-metadata": "The metadata of your Delta table could not be recovered",
    "fault-no-protocol": "The protocol of your Delta table could not be recovered",
    "fault-checkpoint-without-metadata": "The metadata of your Delta table could not be recovered",
    "checkpoint-without-metadata": "The metadata of your Delta table could not be recovered",
    "fault-no-log": "doesn't exist",
    FOLDER: "doesn't exist",
}


# The gateway is compared with the expected rows for each change, and they rarely change.
NIGHT = pytest.mark.night("test_spark_reads_the_expected_rows")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> ReaderTables:
    return ReaderTables(tmp_path_factory.mktemp("readers"))


@pytest.mark.parametrize("name", one_of(5, READABLE, NIGHT))
def test_spark_reads_the_expected_rows(spark: SparkSession, tables: ReaderTables, name: str) -> None:
    table = tables.table(name)
    assert isinstance(table.expected, Path)
    found = spark.read.format("delta").load(f"file://{table.location}").toArrow()
    assert difference(rows_in(table.expected), found.to_pandas(date_as_object=True)) is None


def test_every_fault_is_listed() -> None:
    assert sorted(UNREADABLE) == sorted(name for name, table in OWN.items() if table.served.unreadable)


@pytest.mark.parametrize(("name", "said"), UNREADABLE.items())
def test_spark_refuses_what_no_reader_may_read(
    spark: SparkSession, tables: ReaderTables, name: str, said: str
) -> None:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    location = f"file://{tables.table(name).location}"
    with pytest.raises((PySparkException, Py4JJavaError), match=said):
        spark.read.format("delta").load(location).collect()
