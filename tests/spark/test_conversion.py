"""Iceberg and Delta tables are converted through the service's API: equal rows, no file copied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pyarrow as pa
import pytest
from spark.conversion_lake import NAMESPACE, ConversionLake, conversion_lake, same_rows
from spark.delta_files import ManyFiles
from spark.iceberg_tables import IN_A_FULL_CATALOG, IN_ANY_CATALOG, MERGE_ON_READ, Written
from support.process.random_cases import one_of
from support.servers.task_engine import TaskEngine
from support.tables.reader_tables.own import OWN

from sluicegate.cli.demo.reading import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("conversion")]

TO_DELTA, TO_ICEBERG = "CONVERT_TO_DELTA", "CONVERT_TO_ICEBERG"
_WANTED = ("evolved_vectors", "typed", "by_time", "upgraded", "by_text", "nested")
ICEBERG = sorted(
    (table for table in (*IN_ANY_CATALOG, *IN_A_FULL_CATALOG) if table.name in _WANTED),
    key=lambda table: _WANTED.index(table.name),
)
REFUSED = {
    "vectors-by-partition-in-a-checkpoint": "REORG TABLE",
    "mapped-by-id": "lack field ids of lists and maps",
    "path-absolute": "outside of its directory",
    "times-int96": "have no time zone",
    "fault-no-log": "there is no Delta table",
}
# In the end: the others have deletion vectors or renamed columns, which deltalake refuses.
READ_BY_DELTALAKE = ("by_time", "typed")
# More rows than fit into the results that the driver of Spark accepts.
MANY = 3_000
DIRECTORIES = {
    **{table.name: f"warehouse/{NAMESPACE}/{table.name}" for table in ICEBERG},
    "mirror": f"warehouse/{NAMESPACE}/mirror",
}


@pytest.fixture(scope="module")
def lake(
    tasks_on: TaskEngine, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConversionLake]:
    folder = tmp_path_factory.mktemp("conversion")
    # Every table is converted on Spark, as large ones are. `test_conversion_checkpoints.py` converts
    # tables without Spark.
    with conversion_lake(tasks_on, folder, spark, DIRECTORIES, files_in_worker=0) as running:
        yield running


def refused(lake: ConversionLake, operation: str, name: str, **properties: str) -> str:
    """Return the message of a permanent failure."""
    answer = lake.convert(operation, name, 400, **properties)
    return str(answer["message"])


@pytest.mark.parametrize(
    "table",
    [
        *ICEBERG[:2],
        *(
            pytest.param(
                table,
                marks=pytest.mark.night("test_an_iceberg_table_is_a_delta_table_and_stays_up_to_date"),
            )
            for table in ICEBERG[2:]
        ),
    ],
    ids=lambda table: table.name,
)
def test_an_iceberg_table_is_a_delta_table_and_stays_up_to_date(
    lake: ConversionLake, table: Written
) -> None:
    name, directory = lake.iceberg_table(table.name), DIRECTORIES[table.name]
    names = {"t": name, "c": lake.iceberg, "n": f"{NAMESPACE}.{table.name}"}
    for part in (table.statements[:2], table.statements[2:]):
        lake.run(*part, **names)
        files = lake.data_files(directory)
        lake.convert(TO_DELTA, table.name)
        assert lake.data_files(directory) == files
        truth = lake.rows_of_iceberg(table.name)
        same_rows(truth, lake.rows_of_delta(directory))
        by_deltalake = lake.by_deltalake(directory)
        if set(by_deltalake.protocol().reader_features or ()) <= {"timestampNtz"}:
            same_rows(truth, by_deltalake.to_pyarrow_table())
        else:
            assert part != table.statements[:2]  # nothing is deleted or renamed yet
            assert table.name not in READ_BY_DELTALAKE
    assert difference(truth, lake.recipient.read(table.name, use_delta_format=True)) is None


def test_a_log_that_had_vectors_keeps_their_feature_for_readers_of_changes(
    lake: ConversionLake,
) -> None:
    name, directory = lake.iceberg_table("compacted"), f"warehouse/{NAMESPACE}/compacted"
    names = {"t": name, "c": lake.iceberg, "m": MERGE_ON_READ}
    for statement, declared in (
        ("INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('n', id) FROM range(9)", False),
        ("DELETE FROM {t} WHERE id IN (2, 5)", True),
        ("INSERT OVERWRITE {t} SELECT /*+ COALESCE(1) */ * FROM {t}", True),
    ):
        created = (
            "CREATE TABLE IF NOT EXISTS {t} (id BIGINT, name STRING) USING iceberg TBLPROPERTIES ({m})"
        )
        lake.run(created, statement, **names)
        lake.convert(TO_DELTA, "compacted")
        features = lake.by_deltalake(directory).protocol().reader_features or ()
        assert ("deletionVectors" in features) is declared
        same_rows(lake.rows_of_iceberg("compacted"), lake.rows_of_delta(directory))
    changes = lake.spark.sql(
        "SELECT id, name, sum(if(_change_type = 'insert', 1, -1)) AS net "
        f"FROM table_changes_by_path('s3a://converted/{directory}', 0) "
        "GROUP BY id, name HAVING net <> 0"
    ).toArrow()
    assert set(changes.column("net").to_pylist()) == {1}
    same_rows(lake.rows_of_iceberg("compacted"), changes.drop_columns(["net"]))


@pytest.fixture(scope="module")
def mirror(lake: ConversionLake) -> str:
    """Convert a table of one row, and return Delta's name of it."""
    written = "CREATE TABLE {t} (id BIGINT) USING iceberg"
    lake.run(written, "INSERT INTO {t} VALUES (1)", t=lake.iceberg_table("mirror"))
    lake.convert(TO_DELTA, "mirror")
    return f"delta.`s3a://converted/{DIRECTORIES['mirror']}`"


@pytest.mark.usefixtures("mirror")
def test_a_second_run_changes_nothing(lake: ConversionLake) -> None:
    again = lake.convert(TO_DELTA, "mirror")
    assert again["execution_result"]["delta_version"] == 0
    assert again["message"] == "the Delta table already contains this snapshot"


def test_a_vector_too_large_for_a_line_of_the_log_gets_a_file(lake: ConversionLake) -> None:
    directory = f"warehouse/{NAMESPACE}/large"
    lake.run(
        "CREATE TABLE {t} (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '2', {m})",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id FROM range(600000)",
        "DELETE FROM {t} WHERE hash(id) % 2 = 0",
        t=lake.iceberg_table("large"),
        m=MERGE_ON_READ,
    )
    lake.convert(TO_DELTA, "large")
    listed = obstore.list(lake.server.store(), prefix=f"{directory}/_vectors").collect()
    assert len(listed) == 1
    assert listed[0]["size"] > 52_428
    same_rows(lake.rows_of_iceberg("large"), lake.rows_of_delta(directory))


def test_empty_tables_are_converted(lake: ConversionLake) -> None:
    delta = "delta.`s3a://converted/delta/empty`"
    lake.run(
        "CREATE TABLE {t} (id BIGINT) USING iceberg",
        "CREATE TABLE {d} (id BIGINT) USING delta",
        t=lake.iceberg_table("empty"),
        d=delta,
    )
    lake.convert(TO_DELTA, "empty")
    assert lake.rows_of_delta(f"warehouse/{NAMESPACE}/empty").num_rows == 0
    lake.convert(TO_ICEBERG, "of_empty", location="s3://converted/delta/empty")
    assert lake.rows_of_iceberg("of_empty").num_rows == 0


@pytest.mark.parametrize(
    "statement",
    one_of(
        3,
        ["VACUUM {d} RETAIN 0 HOURS", "INSERT INTO {d} VALUES (2)", "DELETE FROM {d} WHERE id = 1"],
        pytest.mark.night("test_deltas_own_rules_keep_writers_away_from_the_icebergs_files"),
    ),
    ids=["vacuum", "insert", "delete"],
)
def test_deltas_own_rules_keep_writers_away_from_the_icebergs_files(
    lake: ConversionLake, mirror: str, statement: str
) -> None:
    with pytest.raises(Exception, match=r"DELTA_UNSUPPORTED_FEATURES_FOR_WRITE.*sluicegateMirror"):
        lake.run(statement, d=mirror)


def test_a_writable_delta_table_is_no_longer_updated(lake: ConversionLake) -> None:
    iceberg, directory = lake.iceberg_table("left"), f"warehouse/{NAMESPACE}/left"
    delta = f"delta.`s3a://converted/{directory}`"
    lake.run("CREATE TABLE {t} (id BIGINT) USING iceberg", "INSERT INTO {t} VALUES (1)", t=iceberg)
    lake.convert(TO_DELTA, "left", writable="true")
    lake.run("INSERT INTO {d} VALUES (2)", "INSERT INTO {t} VALUES (3)", d=delta, t=iceberg)
    assert "conversions no longer update it" in refused(lake, TO_DELTA, "left")
    assert sorted(lake.rows_of_delta(directory).column("id").to_pylist()) == [1, 2]


def test_a_delta_table_of_somebody_else_is_left_alone(lake: ConversionLake) -> None:
    directory = f"warehouse/{NAMESPACE}/taken"
    lake.run(
        "CREATE TABLE {d} (id BIGINT) USING delta",
        "CREATE TABLE {t} (id BIGINT) USING iceberg",
        t=lake.iceberg_table("taken"),
        d=f"delta.`s3a://converted/{directory}`",
    )
    assert "it was not converted from this table" in refused(lake, TO_DELTA, "taken")


PAST = (
    "INSERT INTO {d} VALUES (1, 3, 'a b/c=d%e+f', DATE '1969-07-20', "
    "TIMESTAMP '2024-02-29 12:00:00.123456', TIMESTAMP_NTZ '1582-01-01 00:00:00', "
    "12345678901234567.891, array('a', NULL), map('k', 1), named_struct('town', 'Ulm', 'zip', 89073)), "
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "DELETE FROM {d} WHERE id = 2",
    "INSERT INTO {d} (id, city) VALUES (3, 'x'), (4, 'a b/c=d%e+f')",
    "ALTER TABLE {d} ADD COLUMN note STRING",
    "INSERT INTO {d} (id, city, note) VALUES (5, '__null__', 'n')",
)


def test_a_delta_table_is_an_iceberg_table_and_stays_up_to_date(lake: ConversionLake) -> None:
    directory, delta = "delta/typed", "delta.`s3a://converted/delta/typed`"
    lake.run(
        "CREATE TABLE {d} (id BIGINT, small BYTE, city STRING, day DATE, at TIMESTAMP, "
        "local TIMESTAMP_NTZ, amount DECIMAL(20, 3), tags ARRAY<STRING>, counts MAP<STRING, INT>, "
        "place STRUCT<town: STRING, zip: INT>) USING delta PARTITIONED BY (city, day)",
        d=delta,
    )
    for part in (PAST[:1], PAST[1:]):
        lake.run(*part, d=delta)
        files = lake.data_files(directory)
        lake.convert(TO_ICEBERG, "of_typed", location=f"s3://converted/{directory}")
        assert lake.data_files(directory) == files
        by_pyiceberg = lake.writer.load_table((NAMESPACE, "of_typed")).scan().to_arrow()
        same_rows(lake.rows_of_delta(directory), lake.rows_of_iceberg("of_typed"), by_pyiceberg)
    same_rows(lake.rows_of_delta(directory), lake.rows_by_gateway("of_typed"))
    again = lake.convert(TO_ICEBERG, "of_typed", location=f"s3://converted/{directory}")
    assert again["message"] == "the Iceberg table already contains this version"


def test_only_changes_are_read_and_no_row_for_each_file_reaches_the_driver(
    lake: ConversionLake,
) -> None:
    table = ManyFiles(lake.server, "delta/many")
    table.write(range(MANY))
    table.commit(0, table.head(), table.adds(range(MANY)))
    table.commit(1)

    def converted() -> tuple[int, int]:
        location = "s3://converted/delta/many"
        result = lake.convert(TO_ICEBERG, "of_many", location=location)["execution_result"]
        scan = lake.writer.load_table((NAMESPACE, "of_many")).scan()
        assert len({task.file.file_path for task in scan.plan_files()}) == live
        return result["files_added"], result["files_removed"]

    live = MANY
    assert converted() == (MANY, 0)
    table.commit(0, table.head())  # a conversion that reads this commit again misses the files
    table.write(range(MANY, MANY + 1))
    # A file that is added again, with other statistics for example, is still one file.
    table.commit(2, table.adds([MANY, 7]))
    live = MANY + 1
    assert converted() == (1, 0)
    table.commit(3, table.removes([3, MANY]))
    table.commit(4, table.adds([3]))
    live = MANY
    assert converted() == (0, 1)
    # Another commit has replaced that of the converted version, so all files are compared.
    table.commit(4, table.adds([3, 4]))
    table.commit(5)
    live = 3
    assert converted() == (0, MANY - 3)


def test_renamed_columns_of_a_delta_table_are_found_by_their_field_ids(lake: ConversionLake) -> None:
    directory, delta = "delta/mapped", "delta.`s3a://converted/delta/mapped`"
    lake.run(
        "CREATE TABLE {d} (id BIGINT, city STRING, place STRUCT<town: STRING>) USING delta "
        "PARTITIONED BY (city)",
        "INSERT INTO {d} VALUES (1, 'Ulm', named_struct('town', 'a'))",
        "ALTER TABLE {d} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {d} RENAME COLUMN city TO old",
        "ALTER TABLE {d} ADD COLUMN city STRING",
        "ALTER TABLE {d} RENAME COLUMN place.town TO village",
        "INSERT INTO {d} VALUES (2, 'Bonn', named_struct('village', 'b'), 'new')",
        d=delta,
    )
    lake.convert(TO_ICEBERG, "of_mapped", location=f"s3://converted/{directory}")
    by_pyiceberg = lake.writer.load_table((NAMESPACE, "of_mapped")).scan().to_arrow()
    same_rows(lake.rows_of_delta(directory), lake.rows_of_iceberg("of_mapped"), by_pyiceberg)


def test_a_converted_delta_table_is_shared_by_every_protocol(lake: ConversionLake) -> None:
    directory, delta = "delta/shared", "delta.`s3a://converted/delta/shared`"
    lake.run(
        "CREATE TABLE {d} (id BIGINT, city STRING, place STRUCT<zip: INT>) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
        "INSERT INTO {d} VALUES (1, 'Ulm', named_struct('zip', 89073)), (2, NULL, NULL)",
        "ALTER TABLE {d} RENAME COLUMN city TO town",
        "INSERT INTO {d} VALUES (3, 'Bonn', named_struct('zip', NULL))",
        d=delta,
    )
    lake.convert(TO_ICEBERG, "of_shared", location=f"s3://converted/{directory}")
    truth = lake.rows_of_delta(directory)
    same_rows(truth, lake.rows_by_gateway("of_shared"))
    assert difference(truth, lake.of_iceberg.read("of_shared", use_delta_format=True)) is None


def test_rows_are_found_by_the_statistics_and_partitions_that_were_converted(
    lake: ConversionLake,
) -> None:
    directory, delta = "delta/pruned", "delta.`s3a://converted/delta/pruned`"
    lake.run(
        "CREATE TABLE {d} (id BIGINT, name STRING, part INT) USING delta PARTITIONED BY (part)",
        "INSERT INTO {d} SELECT /*+ COALESCE(1) */ id, concat('n', id), id % 2 FROM range(4)",
        "INSERT INTO {d} SELECT /*+ COALESCE(1) */ id, concat('n', id), id % 2 FROM range(4, 8)",
        d=delta,
    )
    lake.convert(TO_ICEBERG, "of_pruned", location=f"s3://converted/{directory}")
    table = lake.writer.load_table((NAMESPACE, "of_pruned"))
    for condition, files, rows in [
        ("part = 1 AND id >= 4", 1, 2),
        ("name = 'n0'", 1, 1),
        ("id > 7", 0, 0),
    ]:
        scan = table.scan(row_filter=condition)
        assert len(list(scan.plan_files())) == files, condition
        truth = lake.spark.sql(f"SELECT * FROM {delta} WHERE {condition}").toArrow()
        by_spark = lake.spark.table(lake.iceberg_table("of_pruned")).where(condition).toArrow()
        assert truth.num_rows == rows
        same_rows(truth, scan.to_arrow(), by_spark)


def test_what_iceberg_cannot_say_is_refused_and_nothing_is_made(
    lake: ConversionLake, tmp_path: Path
) -> None:
    for name, said in REFUSED.items():
        OWN[name].write(tmp_path / name)
        for file in tmp_path.glob(f"{name}/delta/**/*"):
            if file.is_file():
                lake.server.put(f"readers/{file.relative_to(tmp_path)}", file.read_bytes())
        location = f"s3://converted/readers/{name}/delta"
        assert said in refused(lake, TO_ICEBERG, f"of_{name}", location=location)
        assert not lake.writer.table_exists((NAMESPACE, f"of_{name}"))


def test_a_converted_iceberg_table_is_neither_purged_nor_overwritten(lake: ConversionLake) -> None:
    delta, location = "delta.`s3a://converted/delta/kept`", "s3://converted/delta/kept"
    lake.run("CREATE TABLE {d} (id BIGINT) USING delta", "INSERT INTO {d} VALUES (1)", d=delta)
    lake.convert(TO_ICEBERG, "of_kept", location=location)
    table = lake.writer.load_table((NAMESPACE, "of_kept"))
    assert table.properties["gc.enabled"] == "false"
    lake.run("INSERT INTO {t} VALUES (7)", t=lake.iceberg_table("of_kept"))
    lake.run("INSERT INTO {d} VALUES (2)", d=delta)
    said = refused(lake, TO_ICEBERG, "of_kept", location=location)
    assert "another writer changed the converted Iceberg table" in said
    lake.writer.create_table((NAMESPACE, "strange"), pa.schema([("id", pa.int64())]))
    said = refused(lake, TO_ICEBERG, "strange", location=location)
    assert "was not converted from this table" in said


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"writeable": "yes"}, "the most similar one is 'writable'"),
        ({"writable": "perhaps"}, "'writable': input should be a valid boolean"),
    ],
)
def test_properties_are_checked(lake: ConversionLake, properties: dict[str, str], said: str) -> None:
    lake.writer.create_table_if_not_exists((NAMESPACE, "checked"), pa.schema([("id", pa.int64())]))
    assert said in refused(lake, TO_DELTA, "checked", **properties)


def test_a_table_of_version_3_with_vectors_of_spark_is_purged(lake: ConversionLake) -> None:
    name = lake.iceberg_table("purged")
    lake.run(
        "CREATE TABLE {t} (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '3', {m})",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id FROM range(10)",
        "DELETE FROM {t} WHERE id IN (2, 3)",
        "DELETE FROM {t} WHERE id = 5",
        t=name,
        m=MERGE_ON_READ,
    )
    files = lake.objects(f"warehouse/{NAMESPACE}/purged")
    assert sum(path.endswith(".puffin") for path in files) == 2
    answer = lake.convert("TABLE_PURGE", "purged")
    assert answer["execution_result"]["files_deleted"] == len(files)
    assert lake.objects(f"warehouse/{NAMESPACE}/purged") == {}
