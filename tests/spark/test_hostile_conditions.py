"""Untrusted conditions of a compaction: they call no function, and their strings remain strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spark.maintained_tables import IcebergTables, refusal_of, result_of
from support.gateways.iceberg_rest import SCHEMA
from support.process.random_cases import cases
from support.tasks.spark_tasks import SparkTasks, task

from sluicegate.api import conditions
from sluicegate_spark.maintenance.condition_sql import condition_sql
from sluicegate_spark.maintenance.sql import SETTINGS, identifier, literal

if TYPE_CHECKING:
    import httpx
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_tasks")]

READS = "reflect('java.lang.System', 'getenv', 'PATH') LIKE '%'"
WRITES = "reflect('java.lang.System', 'setProperty', 'planted', 'here') IS NULL"
HOSTILE = (
    "it's",
    'a "b" `c`',
    "\\",
    "a\\' OR 1=1 --",
    "/* x */ -- y",
    "'); DROP TABLE x; --",
    "${spark.app.name}",
    "Zürich \u2028 \u202e 東京 😀",
    "\n\t\r\x1a",
    "%_",
)
COLUMN = "city--"


@pytest.fixture(scope="module")
def spread(tables: IcebergTables) -> IcebergTables:
    """Tables, of which `spread` has one file for each of the texts."""
    name = f"{tables.direct}.{SCHEMA}.spread"
    tables.spark.sql(
        f"CREATE TABLE {name} (id BIGINT, city STRING) USING iceberg PARTITIONED BY (city)"
    )
    rows = tables.spark.createDataFrame([(1, city) for city in HOSTILE], "id BIGINT, city STRING")
    rows.repartition(1).writeTo(name).append()
    return tables


@pytest.fixture(scope="module")
def hostile_delta(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Delta table with two files for each of the texts, partitioned by an unusual name."""
    location = str(tmp_path_factory.mktemp("hostile") / "table")
    rows = spark.createDataFrame(
        [(city, 1) for city in HOSTILE], f"{identifier(COLUMN)} STRING, id INT"
    )
    for _ in range(2):
        rows.repartition(1).write.format("delta").mode("append").partitionBy(COLUMN).save(location)
    return f"delta.{identifier(location)}"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session with the settings of tasks' sessions."""
    found = spark.newSession()
    for name, value in SETTINGS.items():
        found.conf.set(name, value)
    return found


def condition(column: str, text: str) -> str:
    """Return the condition that a client writes for a column with a text."""
    return f"{identifier(column)} = {literal(text)}"


def compact_delta(tasks: SparkTasks, table: str, **properties: str) -> httpx.Response:
    server = tasks.server
    config = {
        "s3.access-key-id": server.admin.access_key_id,
        "s3.secret-access-key": server.admin.secret_access_key,
        "s3.endpoint": server.endpoint,
        "s3.path-style-access": "true",
        "client.region": server.region,
    }
    told = {"format": "delta", "location": f"s3://{server.bucket}/{table}", **properties}
    return tasks.execute(
        task("TABLE_COMPACTION", table, catalog="none", config=config, properties=told)
    )


@pytest.mark.parametrize("where", [READS, WRITES, f"id = 1 OR {READS}"])
def test_no_condition_names_a_function(spread: IcebergTables, where: str) -> None:
    held = spread.objects("spread")
    answer = spread.run("TABLE_COMPACTION", "spread", where=where, **{"rewrite-all": "true"})
    assert "'where': not understood" in refusal_of(answer)
    assert spread.objects("spread") == held


@pytest.mark.parametrize("where", [READS, WRITES])
def test_no_condition_of_a_delta_table_names_a_function(spark_tasks: SparkTasks, where: str) -> None:
    answer = compact_delta(spark_tasks, "nowhere", where=where)
    assert "'where': not understood" in refusal_of(answer)


def test_texts_stay_texts_within_icebergs_procedure(spread: IcebergTables) -> None:
    where = " OR ".join(condition("city", city) for city in HOSTILE)
    answer = spread.run("TABLE_COMPACTION", "spread", where=where, **{"rewrite-all": "true"})
    assert result_of(answer)["rewritten_data_files"] == len(HOSTILE)


def test_texts_stay_texts_within_optimize(session: SparkSession, hostile_delta: str) -> None:
    texts = " OR ".join(condition(COLUMN, city) for city in HOSTILE)
    where = condition_sql(conditions.parse_condition(texts))
    (row,) = session.sql(f"OPTIMIZE {hostile_delta} WHERE {where}").collect()
    assert row.metrics.numFilesRemoved == 2 * len(HOSTILE)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=8))
@settings(max_examples=cases(32), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_name_is_that_column_and_any_text_is_itself(
    session: SparkSession, pairs: list[tuple[str, str]]
) -> None:
    named = {f"{number}{name}": text for number, (name, text) in enumerate(pairs)}
    rows = session.createDataFrame([tuple(named.values())], list(named))
    where = " AND ".join(condition(name, text) for name, text in named.items())
    tree = conditions.parse_condition(where)
    assert rows.where(condition_sql(tree)).count() == 1
    assert rows.where(condition_sql(conditions.Not(tree))).count() == 0
