"""Catalogs that do not create a converted table correctly: no incomplete table remains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest
from spark.conversion_lake import NAMESPACE, ConversionLake, conversion_lake, same_rows
from spark.faulty_catalog import LEFT, REFUSED, RENUMBERED, faulty_catalog
from support.servers.task_engine import TaskEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_tasks")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faulty")


@pytest.fixture(scope="module")
def lake(tasks_on: TaskEngine, spark: SparkSession, folder: Path) -> Iterator[ConversionLake]:
    with conversion_lake(tasks_on, folder, spark, {}, faulty_catalog) as running:
        yield running


def written(lake: ConversionLake, name: str) -> str:
    """Write a partitioned Delta table, and return its location."""
    lake.run(
        "CREATE TABLE {d} (id BIGINT, part STRING) USING delta PARTITIONED BY (part)",
        "INSERT INTO {d} VALUES (1, 'a'), (2, NULL), (3, 'b/c')",
        d=f"delta.`s3a://converted/delta/{name}`",
    )
    return f"s3://converted/delta/{name}"


def test_a_catalog_that_assigns_other_field_ids_is_refused(lake: ConversionLake) -> None:
    location = written(lake, RENUMBERED)
    files = lake.data_files(f"delta/{RENUMBERED}")
    answer = lake.convert("CONVERT_TO_ICEBERG", RENUMBERED, 400, location=location)
    assert "with the columns, field ids and partitions of the Delta table" in answer["message"]
    assert not lake.writer.table_exists((NAMESPACE, RENUMBERED))
    assert lake.data_files(f"delta/{RENUMBERED}") == files


def test_a_table_whose_first_snapshot_is_refused_is_dropped(lake: ConversionLake) -> None:
    location = written(lake, REFUSED)
    answer = lake.convert("CONVERT_TO_ICEBERG", REFUSED, 502, location=location)
    assert "rejects the request for the table" in answer["message"]
    assert not lake.writer.table_exists((NAMESPACE, REFUSED))
    assert lake.rows_of_delta(f"delta/{REFUSED}").num_rows == 3


def test_a_table_that_an_attempt_left_empty_is_filled_by_the_next(
    lake: ConversionLake, folder: Path
) -> None:
    location = written(lake, LEFT)
    lake.convert("CONVERT_TO_ICEBERG", LEFT, 502, location=location)
    assert lake.writer.load_table((NAMESPACE, LEFT)).current_snapshot() is None
    said = f"the empty table '{NAMESPACE}.{LEFT}' in the catalog 'lake' was not dropped"
    assert said in (folder / "service/service.log").read_text()
    lake.convert("CONVERT_TO_ICEBERG", LEFT, location=location)
    by_pyiceberg = lake.writer.load_table((NAMESPACE, LEFT)).scan().to_arrow()
    same_rows(lake.rows_of_delta(f"delta/{LEFT}"), lake.rows_of_iceberg(LEFT), by_pyiceberg)


def test_a_new_table_is_in_a_directory_without_the_files_of_the_source(lake: ConversionLake) -> None:
    """Some catalogs delete the directory of a table that they drop."""
    location = written(lake, "elsewhere")
    lake.convert("CONVERT_TO_ICEBERG", REFUSED, 502, location=location)
    found = obstore.list(lake.server.store(), prefix="delta/elsewhere/_iceberg").collect()
    created = [each["path"].split("/") for each in found if "00000-" in each["path"]]
    assert len(created) == 1
    assert created[0][:3] == ["delta", "elsewhere", "_iceberg"]
    assert created[0][4] == "metadata"
