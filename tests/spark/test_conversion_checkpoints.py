"""Converted Iceberg tables get checkpoints, from which all readers read the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import orjson
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from spark.conversion_lake import BUCKET, NAMESPACE, ConversionLake, conversion_lake, same_rows
from spark.iceberg_tables import MERGE_ON_READ
from support.servers.task_engine import TaskEngine

from sluicegate.cli.demo.reading import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_tasks")]

TO_DELTA = "CONVERT_TO_DELTA"
DIRECTORIES = {name: f"warehouse/{NAMESPACE}/{name}" for name in ("hourly", "renamed", "blocked")}
CREATED = (
    "CREATE TABLE {t} (id BIGINT, city STRING, part INT) USING iceberg PARTITIONED BY (part) "
    "TBLPROPERTIES ('format-version' = '2', {m})",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('a b/', id), id % 2 FROM range(20)",
)
HOURS = (
    "DELETE FROM {t} WHERE id IN (2, 3)",
    "DELETE FROM {t} WHERE part = 1 AND id > 15",
    "DELETE FROM {t} WHERE part = 2",
    "UPDATE {t} SET city = NULL WHERE id = 0",
    *(f"INSERT INTO {{t}} VALUES ({id_}, 'n', {id_ % 3})" for id_ in range(100, 106)),
)
RENAMED = (
    "DELETE FROM {t} WHERE id IN (2, 3)",
    "ALTER TABLE {t} RENAME COLUMN city TO town",
    "INSERT INTO {t} VALUES (100, 'new', 1)",
    "DELETE FROM {t} WHERE id = 5",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def lake(tasks_on: TaskEngine, spark: SparkSession, folder: Path) -> Iterator[ConversionLake]:
    with conversion_lake(tasks_on, folder, spark, DIRECTORIES) as running:
        yield running


def mirrored(lake: ConversionLake, name: str, *updates: str, **properties: str) -> None:
    """Create a table and its conversion, and update the conversion after each statement."""
    table = lake.iceberg_table(name)
    lake.run(*CREATED, t=table, m=MERGE_ON_READ)
    lake.convert(TO_DELTA, name, 200, **properties)
    for statement in updates:
        lake.run(statement, t=table)
        lake.convert(TO_DELTA, name)


def log_of(lake: ConversionLake, name: str) -> set[str]:
    """Return the names of the files in the log of a converted table."""
    return {path.rpartition("/")[2] for path in lake.objects(f"{DIRECTORIES[name]}/_delta_log")}


def last_checkpoint(lake: ConversionLake, name: str) -> int:
    """Return the version of the last checkpoint of a converted table."""
    key = f"{DIRECTORIES[name]}/_delta_log/_last_checkpoint"
    pointer = orjson.loads(bytes(obstore.get(lake.server.store(), key).bytes()))
    return int(pointer["version"])


def leave_only(lake: ConversionLake, name: str, version: int) -> None:
    """Delete the log of a converted table before a checkpoint."""
    # Spark asks for the commit of a checkpoint, too.
    kept = {f"{version:020}.checkpoint.parquet", f"{version:020}.json", "_last_checkpoint"}
    gone = [f"{DIRECTORIES[name]}/_delta_log/{file}" for file in log_of(lake, name) - kept]
    obstore.delete(lake.server.store(), gone)
    assert log_of(lake, name) == kept


def rows_by_deltalake(lake: ConversionLake, name: str) -> pa.Table:
    """Return what delta-rs reads from a converted table."""
    table = lake.by_deltalake(DIRECTORIES[name])
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())


def test_everybody_reads_a_mirror_of_ten_updates_from_its_checkpoint_alone(
    lake: ConversionLake,
) -> None:
    mirrored(lake, "hourly", *HOURS)
    assert last_checkpoint(lake, "hourly") == len(HOURS) == 10
    leave_only(lake, "hourly", 10)
    truth = lake.rows_of_iceberg("hourly")
    assert truth.num_rows == 22
    same_rows(truth, rows_by_deltalake(lake, "hourly"), lake.rows_of_delta(DIRECTORIES["hourly"]))
    assert difference(truth, lake.recipient.read("hourly", use_delta_format=True)) is None
    lake.run("INSERT INTO {t} VALUES (200, 'after', 1)", t=lake.iceberg_table("hourly"))
    assert lake.convert(TO_DELTA, "hourly")["execution_result"]["delta_version"] == 11
    same_rows(lake.rows_of_iceberg("hourly"), rows_by_deltalake(lake, "hourly"))


def test_a_mirror_remembers_how_often_it_gets_checkpoints_and_they_know_renamed_columns(
    lake: ConversionLake,
) -> None:
    mirrored(lake, "renamed", *RENAMED, checkpoint_interval="2")
    checkpoints = {name for name in log_of(lake, "renamed") if name.endswith(".parquet")}
    assert checkpoints == {f"{version:020}.checkpoint.parquet" for version in (0, 2, 4)}
    leave_only(lake, "renamed", 4)
    truth = lake.rows_of_iceberg("renamed")
    assert truth.column_names == ["id", "town", "part"]
    same_rows(truth, lake.rows_of_delta(DIRECTORIES["renamed"]))
    assert difference(truth, lake.recipient.read("renamed", use_delta_format=True)) is None


def test_a_checkpoint_that_cannot_be_written_fails_nothing(lake: ConversionLake, folder: Path) -> None:
    mirrored(lake, "blocked", checkpoint_interval="1")
    # The next one cannot be made, as it takes over from this one what VACUUM has to spare.
    lake.server.put(f"{DIRECTORIES['blocked']}/_delta_log/{0:020}.checkpoint.parquet", b"damaged")
    lake.run("DELETE FROM {t} WHERE id = 1", t=lake.iceberg_table("blocked"))
    answer = lake.convert(TO_DELTA, "blocked")
    assert answer["execution_result"]["delta_version"] == 1
    assert last_checkpoint(lake, "blocked") == 0
    assert f"{1:020}.checkpoint.parquet" not in log_of(lake, "blocked")
    truth = lake.rows_of_iceberg("blocked")
    assert difference(truth, lake.recipient.read("blocked", use_delta_format=True)) is None
    log = (folder / "service/service.log").read_text()
    assert (
        f"version 1 of the Delta table s3://{BUCKET}/{DIRECTORIES['blocked']} has no checkpoint" in log
    )
