"""Converted tables have the ids that their catalog assigned: all readers read equal columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from spark.conversion_lake import (
    NAMESPACE,
    CatalogOf,
    ConversionLake,
    conversion_lake,
    icebergs_catalog,
    same_rows,
    seaweedfs_catalog,
)
from spark.delta_histories import AMBIGUOUS, HISTORIES, TableHistory
from support.servers.task_engine import TaskEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_tasks")]

NIGHT = pytest.mark.night("test_a_delta_table_is_an_iceberg_table_in_every_catalog")
REPEATED = ("by_numbers", "by_text_and_day")  # other partitions, of other types
CATALOGS: list[CatalogOf] = [icebergs_catalog, seaweedfs_catalog]


def catalogs(*at_night: CatalogOf) -> pytest.MarkDecorator:
    """Run a test with each catalog, in some of them at night only."""
    return pytest.mark.parametrize(
        "lake",
        [pytest.param(each, marks=NIGHT if each in at_night else ()) for each in CATALOGS],
        ids=lambda catalog: catalog.__name__,
        indirect=True,
    )


@pytest.fixture(scope="module")
def lake(
    request: pytest.FixtureRequest,
    tasks_on: TaskEngine,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ConversionLake]:
    folder = tmp_path_factory.mktemp("conversion")
    with conversion_lake(tasks_on, folder, spark, {}, request.param) as running:
        yield running


def convert(lake: ConversionLake, name: str) -> str:
    """Convert a Delta table, and return the message of the task."""
    answer = lake.convert("CONVERT_TO_ICEBERG", f"of_{name}", location=f"s3://converted/delta/{name}")
    return str(answer["message"])


def edits_names(lake: ConversionLake) -> bool:
    """Return whether the catalog adds column names to name mappings, and removes dropped columns."""
    return "warehouse" in lake.catalog.settings


def check(lake: ConversionLake, name: str) -> None:
    """Fail if a reader of the Iceberg table reads other rows than the Delta table contains."""
    table = lake.writer.load_table((NAMESPACE, f"of_{name}"))
    if edits_names(lake) and name == "dropped":
        same_rows(lake.rows_of_delta(f"delta/{name}"), lake.rows_of_iceberg(f"of_{name}"))
        with pytest.raises(ValueError, match="Could not find field with name"):
            table.scan().to_arrow()
        return
    current = table.current_snapshot()
    assert current is not None
    same_rows(
        lake.rows_of_delta(f"delta/{name}"),
        lake.rows_of_iceberg(f"of_{name}"),
        table.scan().to_arrow(),
        table.scan(snapshot_id=current.snapshot_id).to_arrow(),
    )


@catalogs(seaweedfs_catalog)
@pytest.mark.parametrize(
    "history",
    [pytest.param(each, marks=NIGHT if each.name in REPEATED else ()) for each in HISTORIES],
    ids=lambda history: history.name,
)
def test_a_delta_table_is_an_iceberg_table_in_every_catalog(
    lake: ConversionLake, history: TableHistory
) -> None:
    for statements in (history.first, history.then):
        lake.run(*statements, d=f"delta.`s3a://converted/delta/{history.name}`")
        convert(lake, history.name)
        check(lake, history.name)
    assert convert(lake, history.name) == "the Iceberg table already contains this version"


@catalogs()
def test_a_new_column_never_gets_the_values_of_a_dropped_one_of_its_name(lake: ConversionLake) -> None:
    """SeaweedFS's catalog also maps the table's current column names to columns in data files."""
    name = AMBIGUOUS.name
    for statements in (AMBIGUOUS.first, AMBIGUOUS.then):
        lake.run(*statements, d=f"delta.`s3a://converted/delta/{name}`")
    status, location = 400 if edits_names(lake) else 200, f"s3://converted/delta/{name}"
    answer = lake.convert("CONVERT_TO_ICEBERG", f"of_{name}", status, location=location)
    if edits_names(lake):
        said = "'name' would also match another column of older data files"
        assert said in answer["message"]
        assert not lake.writer.table_exists((NAMESPACE, f"of_{name}"))
    else:
        check(lake, name)


@catalogs(seaweedfs_catalog)
def test_moments_that_overflow_in_some_readers_are_refused(lake: ConversionLake) -> None:
    delta, location = "delta.`s3a://converted/delta/moments`", "s3://converted/delta/moments"
    kind = "spark.sql.parquet.outputTimestampType"
    default = lake.spark.conf.get(kind)
    try:
        lake.run(
            f"SET {kind} = INT96",
            "CREATE TABLE {d} (id BIGINT, until TIMESTAMP) USING delta",
            "INSERT INTO {d} VALUES (1, TIMESTAMP '9999-12-31 00:00:00'), (2, NULL)",
            d=delta,
        )
        answer = lake.convert("CONVERT_TO_ICEBERG", "of_moments", 400, location=location)
        assert "column 'until' of the Delta table has timestamps before 1678" in answer["message"]
        lake.run(f"SET {kind} = TIMESTAMP_MICROS", "INSERT OVERWRITE {d} SELECT * FROM {d}", d=delta)
    finally:
        lake.spark.conf.set(kind, str(default))
    convert(lake, "moments")
    check(lake, "moments")
