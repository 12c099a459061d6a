"""How copies are configured, refused, and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from deltalake import DeltaTable
from spark.materialized_copies import KEY, NO_QUERIES, SCHEMA, SHARE, Copies, shares
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.servers.task_engine import SharedSpark

from sluicegate.api import TaskFailed
from sluicegate_spark.copies.config import CopyConfig
from sluicegate_spark.materialization.query import check_plan
from sluicegate_spark.materialization.shared_rows import shared_rows

pytestmark = pytest.mark.slow

NAME = "sales.people"


@pytest.fixture(scope="module")
def copies(shared_spark: SharedSpark, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("copies")
    session = shared_spark.session()
    table = f"delta.`file://{folder}/people`"
    session.sql(
        f"CREATE TABLE {table} (id INT COMMENT 'of the ssn', country STRING, `full name` STRING, "
        "ssn STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    session.sql(
        f"INSERT INTO {table} VALUES (1, 'DE', 'a', '11'), (2, 'FR', 'b', '22'), (3, '', 'c', '')"
    )
    return Copies(session, shared_spark.executor, folder, {})


def configured(copies: Copies, **copy: Any) -> Copies:
    section = {"source": {"location": f"file://{copies.folder}/people"}, **copy}
    return replace(copies, tables={NAME: section})


def queried(copies: Copies, query: str) -> Copies:
    people = {"location": f"file://{copies.folder}/people"}
    return replace(copies, tables={NAME: {"sources": {"people": people}, "query": query}})


def test_no_metadata_of_the_source_is_in_the_copy(copies: Copies) -> None:
    made = configured(copies, columns={"ssn": "hide"})
    result = made.refresh(NAME)
    assert result.further["rows"] == 3
    location = made.location(NAME, by_recipient=False)
    assert [each.name for each in DeltaTable(location).schema().fields] == [
        "id",
        "country",
        "full name",
    ]
    log = "".join(each.read_text() for each in (location / "_delta_log").glob("*.json"))
    assert "ssn" not in log


def test_a_refresh_that_fails_keeps_the_last_version_and_says_how_old_it_is(copies: Copies) -> None:
    made = configured(copies, columns={"ssn": "hide"})
    made.refresh(NAME)
    before = DeltaTable(made.location(NAME, by_recipient=False)).version()
    for wrong, message in (
        ({"columns": {"snn": "hide"}}, "the table has no column `snn`"),
        ({"columns": {"ssn": "hide"}, "rows": "age > 3"}, "the table has no column `age`"),
        ({"columns": {"id": {"truncate": 1}}}, "can't be truncated"),
        ({"columns": {"ssn": "hash"}, "cluster_by": ["ssn"]}, "the order of rows would show"),
    ):
        with pytest.raises(TaskFailed, match=message) as failed:
            configured(copies, **wrong).refresh(NAME)
        assert "recipients still read the data of 20" in failed.value.message
    assert DeltaTable(made.location(NAME, by_recipient=False)).version() == before


def test_only_changed_sources_or_force_write_a_version_and_delete_earlier_files(copies: Copies) -> None:
    made = configured(copies, columns={"ssn": "hide"}, other_columns="share", retention=0)
    made.refresh(NAME)
    location = made.location(NAME, by_recipient=False)
    before = DeltaTable(location)
    assert "is up to date" in made.refresh(NAME).summary
    assert DeltaTable(location).version() == before.version()
    assert made.refresh(NAME, force="true").further["version"] == before.version() + 1
    live = {Path(file).name for file in DeltaTable(location).file_uris()}
    files = {path.name for path in location.rglob("*.parquet") if path.parent.name != "_delta_log"}
    assert files == live
    assert live.isdisjoint(Path(file).name for file in before.file_uris())


def test_rows_that_no_recipient_can_have_are_left_out_and_counted(copies: Copies) -> None:
    """Names in a directory have at most 255 bytes, and Spark escapes some characters."""
    table = f"delta.`file://{copies.folder}/regions`"
    copies.spark.sql(f"CREATE TABLE {table} (id INT, region STRING) USING delta")
    values = ["'DE'", "''", "NULL", "repeat('x', 300)", "repeat('/', 80)", "repeat('é', 120)"]
    for number, value in enumerate(["repeat('x', 200)", "repeat('/', 60)", "repeat('é', 90)", *values]):
        copies.spark.sql(f"INSERT INTO {table} VALUES ({number}, {value})")
    section = {
        "source": {"location": f"file://{copies.folder}/regions"},
        "recipient_columns": {"region": "region"},
    }
    made = replace(copies, tables={"sales.regions": section})
    result = made.refresh("sales.regions")
    assert (result.further["rows"], result.further["rows_left_out"]) == (4, 5)
    assert "5 rows were left out" in result.summary
    copies.spark.sql(f"INSERT INTO {table} VALUES (10, 'FR'), (11, repeat('y', 300))")
    result = made.refresh("sales.regions")
    left_out = 1 if result.further["refresh"] == "incremental" else 6
    assert (result.further["rows"], result.further["rows_left_out"]) == (5, left_out)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_row_that_cannot_be_computed_is_a_final_failure_that_leaves_no_file(
    copies: Copies, is_first: bool
) -> None:
    name = f"sales.computed_{is_first}".lower()
    section = {"source": {"location": f"file://{copies.folder}/people"}}
    if not is_first:
        replace(copies, tables={name: section}).refresh(name)
    location = replace(copies, tables={name: section}).location(name, by_recipient=False)
    before = {path.name for path in location.rglob("*.parquet")}
    expression = {"expression": "CAST(country AS INT) + id"}
    wrong = replace(copies, tables={name: {**section, "columns": {"id": expression}}})
    with pytest.raises(TaskFailed, match=r"CAST_INVALID_INPUT \(SQLSTATE 22018\) in ") as failed:
        wrong.refresh(name)
    assert not failed.value.retryable
    assert "`country`" in failed.value.message or "country" in failed.value.message
    assert "'DE'" not in failed.value.message
    assert {path.name for path in location.rglob("*.parquet")} == before
    right = replace(copies, tables={name: section}).refresh(name, force="true")
    assert right.further["rows"] == 3


def test_auto_compaction_of_the_executor_does_not_rearrange_a_copy(copies: Copies) -> None:
    wanted = {
        "spark.databricks.delta.autoCompact.enabled": "true",
        "spark.databricks.delta.autoCompact.minNumFiles": "2",
        "spark.sql.files.maxRecordsPerFile": "1",
    }
    made = replace(
        configured(copies, other_columns="share", cluster_by=["id"]),
        executor={**copies.executor, "conf": {**copies.executor["conf"], **wanted}},
    )
    with started_with(copies, wanted):
        result = made.refresh(NAME, force="true")
    table = DeltaTable(made.location(NAME, by_recipient=False))
    assert result.further["files"] == len(table.file_uris()) == 3
    assert result.further["version"] == table.version()


@contextmanager
def started_with(copies: Copies, settings: Mapping[str, str]) -> Iterator[None]:
    """Until the block ends, give new sessions settings as if Spark had started with these.

    In Spark Connect, the executor itself gives its settings to each session.
    """
    if "remote" in copies.executor:
        yield
        return
    context: Any = copies.spark.sparkContext
    conf = context._jsc.sc().conf()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            conf.remove(name)


def test_a_missing_source_is_an_error_of_the_task(copies: Copies) -> None:
    gone = {NAME: {"source": {"location": f"file://{copies.folder}/gone"}}}
    with pytest.raises(TaskFailed, match="there is no Delta table at"):
        replace(copies, tables=gone).refresh(NAME)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM delta.`/etc`", "'delta./etc' is not one of the sources"),
        ("SELECT * FROM parquet.`file:///etc/x`", "is not one of the sources"),
        ("SELECT * FROM other", "'other' is not one of the sources of its query: people"),
        ("SELECT id FROM people WHERE EXISTS (SELECT 1 FROM other)", "'other' is not one"),
        ("SELECT (SELECT max(id) FROM other) FROM people", "'other' is not one"),
        ("WITH x AS (SELECT * FROM other) SELECT * FROM x", "'other' is not one"),
        ("WITH x AS (SELECT * FROM y), y AS (SELECT * FROM people) SELECT * FROM x", "'y' is not one"),
        ("SELECT * FROM (WITH other AS (SELECT 1) SELECT * FROM other), other", "is not allowed"),
        (
            "SELECT reflect('java.lang.System', 'getenv', 'PATH') FROM people",
            "'reflect' is not allowed",
        ),
        ("SELECT java_method('java.lang.System', 'getenv', 'PATH')", "'java_method' is not allowed"),
        ("SELECT input_file_name() FROM people", "'input_file_name' is not allowed"),
        ("SELECT rand() FROM people", "'rand' is not allowed"),
        ("SELECT current_user FROM people", "not"),
        ("SELECT current_date FROM people", "not"),
        ("SELECT * FROM range(3)", "'UnresolvedTableValuedFunction' is not allowed"),
        ("SELECT * FROM IDENTIFIER('other')", "is not allowed"),
        ("SELECT TRANSFORM(id) USING 'cat' FROM people", "is not allowed"),
        ("SELECT * FROM people VERSION AS OF 0", "is not allowed"),
        (
            "SELECT id, row_number() OVER w FROM people WINDOW w AS "
            "(ORDER BY java_method('java.lang.System', 'getenv', 'PATH'))",
            "'WithWindowDefinition' is not allowed",
        ),
        ("SELECT * FROM people WITH (versionAsOf = 0)", "options of a table are not allowed"),
        ("INSERT INTO people SELECT * FROM people", "is not allowed"),
        ("CREATE VIEW v AS SELECT 1", "is not allowed"),
        ("DROP TABLE people", "is not allowed"),
        ("SHOW TABLES", "is not allowed"),
        ("SET x = 1", "is not allowed"),
        ("SELECT 1; SELECT 2", "can't parse"),
        ("SELEC", "can't parse"),
    ],
)
def test_a_query_reads_only_its_sources(
    shared_spark: SharedSpark, copies: Copies, query: str, message: str
) -> None:
    expected = NO_QUERIES if shared_spark.is_connect else message
    with pytest.raises(TaskFailed, match=expected) as failed:
        queried(copies, query).refresh(NAME)
    assert failed.value.error_code == "INVALID_PAYLOAD"


def test_an_error_of_a_row_names_the_column_and_never_the_value(
    copies: Copies, caplog: pytest.LogCaptureFixture
) -> None:
    copy = configured(copies, columns={"ssn": {"expression": "CAST(country AS INT)"}})
    with pytest.raises(TaskFailed) as failed:
        copy.refresh(NAME)
    shown = f"{failed.value.message} {failed.value.detail} {caplog.text}"
    assert ("CAST_INVALID_INPUT (SQLSTATE 22018)" in shown, "country" in shown) == (True, True), shown
    assert ("'DE'" in shown, "'FR'" in shown) == (False, False), shown


PLACES = """
    SELECT {0} FROM people
    SELECT DISTINCT id, -{0} FROM people
    SELECT id FROM people WHERE {0} = 'x'
    SELECT count(*) FROM people GROUP BY {0}
    SELECT id, count(*) FROM people GROUP BY GROUPING SETS ((id, {0}))
    SELECT id FROM people GROUP BY id HAVING max({0}) = 'x'
    SELECT count(*) FILTER (WHERE {0} = 'x') FROM people
    SELECT id FROM people ORDER BY {0} DESC NULLS LAST
    SELECT id FROM people SORT BY {0}
    SELECT id FROM people LIMIT length({0})
    SELECT id FROM people LIMIT 1 OFFSET length({0})
    SELECT a.id FROM people a JOIN people b ON {0} = 'x'
    SELECT a.id FROM people a LEFT SEMI JOIN people b ON {0} = 'x'
    SELECT sum(id) OVER (PARTITION BY {0}) FROM people
    SELECT sum(id) OVER (ORDER BY {0}) FROM people
    SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN length({0}) PRECEDING AND CURRENT ROW) FROM people
    SELECT sum(id) OVER w FROM people WINDOW w AS (PARTITION BY {0})
    SELECT sum(id) OVER w FROM people WINDOW w AS (ORDER BY {0})
    SELECT sum(id) OVER w FROM people WINDOW v AS (ORDER BY {0}), w AS (ORDER BY id)
    SELECT CASE WHEN {0} = 'x' THEN 1 ELSE 2 END FROM people
    SELECT CASE {0} WHEN 'x' THEN 1 END FROM people
    SELECT id IN (1, length({0})) FROM people
    SELECT id IN (SELECT id FROM people WHERE {0} = 'x') FROM people
    SELECT CAST({0} AS INT) FROM people
    SELECT {0} LIKE 'x' ESCAPE '!' FROM people
    SELECT `full name` LIKE ANY ('x', {0}) FROM people
    SELECT id BETWEEN length({0}) AND 3 FROM people
    SELECT upper({0}) FROM people
    SELECT `full name`[{0}] FROM people
    SELECT named_struct('x', {0}) FROM people
    SELECT substring({0} FROM 1 FOR 2) FROM people
    SELECT trim(BOTH {0} FROM `full name`) FROM people
    SELECT transform(`full name`, x -> {0}) FROM people
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY {0}) FROM people
    SELECT * FROM (VALUES ({0})) AS t(x)
    SELECT * FROM people, LATERAL (SELECT {0})
    SELECT * FROM people PIVOT (max({0}) FOR id IN (1, 2))
    SELECT * FROM people TABLESAMPLE (length({0}) ROWS)
    SELECT id FROM people UNION ALL SELECT {0}
    WITH x AS (SELECT {0} AS y) SELECT y FROM x
    WITH x AS (SELECT id FROM people WINDOW w AS (ORDER BY {0})) SELECT id FROM x
    SELECT id FROM (SELECT id, {0} AS y FROM people) WHERE y = 'x'
    SELECT EXISTS (SELECT 1 FROM people WHERE {0} = 'x') FROM people
    SELECT /*+ REPARTITION(3) */ {0} FROM people
    FROM people |> WHERE {0} = 'x'
    FROM people |> EXTEND {0} AS y
"""
HIDDEN = (
    "java_method('java.lang.System', 'getenv', 'PATH')",
    "(SELECT max(name) FROM other)",
    "(SELECT max(name) FROM people WINDOW w AS (ORDER BY current_user()))",
)


def test_no_place_of_a_query_hides_what_it_reads(shared_spark: SharedSpark) -> None:
    if shared_spark.is_connect:
        pytest.skip("there are no queries")
    from pyspark.errors import ParseException

    jvm: Any = shared_spark.session()._jsparkSession
    parser = jvm.sessionState().sqlParser()
    checked = 0
    for place in PLACES.strip().splitlines():
        for hidden in HIDDEN:
            try:
                plan = parser.parsePlan(place.format(hidden))
            except ParseException:
                continue
            checked += 1
            with pytest.raises(TaskFailed) as failed:
                check_plan(plan, frozenset({"people"}))
            assert failed.value.error_code == "INVALID_PAYLOAD", place
    assert checked > 100


def test_a_query_can_use_much_of_sql(shared_spark: SharedSpark, copies: Copies) -> None:
    query = """
        WITH a AS (SELECT id, upper(p.country) AS c, `full name` AS n FROM people p)
        SELECT c, count(*) AS many, max(CASE WHEN id > 1 THEN n ELSE 'x' END) AS name,
               row_number() OVER (ORDER BY c DESC NULLS LAST) AS place
        FROM a WHERE id BETWEEN 1 AND 9 AND n LIKE '%' AND id IN (SELECT id FROM people)
        GROUP BY c HAVING count(*) > 0 UNION ALL SELECT 'z', 0L, NULL, 9 LIMIT 100
    """
    made = queried(copies, query)
    if shared_spark.is_connect:
        with pytest.raises(TaskFailed, match=NO_QUERIES):
            made.refresh(NAME, force="true")
    else:
        assert made.refresh(NAME, force="true").further["rows"] == 4


def test_sparks_plan_does_not_show_the_key(copies: Copies, capsys: pytest.CaptureFixture[str]) -> None:
    source = copies.spark.read.format("delta").load(f"file://{copies.folder}/people")
    copy = CopyConfig.model_validate(
        {"source": {"location": "file:///x/y"}, "columns": {"ssn": "hash"}}
    )
    rows = shared_rows(source, copy, KEY.encode(), "s3://lake/copies")
    rows.explain(extended=True)
    shown = capsys.readouterr().out
    assert "keyed_hash_of(" in shown
    assert KEY not in shown
    assert KEY not in json.dumps(rows.schema.jsonValue())


@pytest.fixture(scope="module")
def by_recipient(copies: Copies) -> Copies:
    made = configured(copies, recipient_columns={"country": "country"}, columns={"ssn": "hide"})
    result = made.refresh(NAME)
    assert result.further["partition_filter"] == "`country` = recipient.country"
    assert result.further["rows"] == 2  # rows without a country belong to no recipient
    return made


# How the copy is shared, by the name of the shared table.
_WRONG: dict[str, dict[str, Any]] = {
    "without": {"partition_filter": None},
    "directory": {"partition_filter": None, "access_modes": ["url", "dir"]},
    "constant": {"partition_filter": "country = 'DE'"},
    "property": {"partition_filter": "country = recipient.region"},
}


@pytest.fixture(scope="module")
def gateway(by_recipient: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("gateway")
    settings = {
        "catalogs": {"copies": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{by_recipient.folder}/copies/"}],
    }
    declared = shares(by_recipient, ["people"])
    tables = declared["shares"][SHARE]["schemas"][SCHEMA]["tables"]
    tables |= {name: tables["people"] | options for name, options in _WRONG.items()}
    write_configuration(folder, settings, declared)
    with running_gateway(folder) as running:
        yield running


def test_a_copy_for_each_recipient_is_not_shared_without_its_filter(gateway: RunningGateway) -> None:
    profile = json.loads(gateway.profile("acme").read_text())
    headers = {
        "Authorization": f"Bearer {profile['bearerToken']}",
        "delta-sharing-capabilities": "responseformat=delta;readerfeatures=columnmapping",
    }
    with httpx.Client(headers=headers, timeout=30) as http:
        for name in ("people", *_WRONG):
            path = f"{gateway.endpoint}/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}"
            tables = f"{gateway.address}/iceberg/v1/shares/{SHARE}/namespaces/{SCHEMA}/tables"
            answers = [
                http.post(f"{path}/query", json={}),
                http.get(f"{path}/metadata"),
                http.post(f"{path}/temporary-table-credentials", json={}),
                http.get(f"{tables}/{name}"),
            ]
            codes = [each.status_code for each in answers]
            if name == "people":
                assert codes[:3] == [200, 200, 400]
                assert '"description":"Data of 20' in answers[1].text
                assert len([line for line in answers[0].text.splitlines() if '"file"' in line]) == 1
            else:
                assert min(codes) >= 400, (name, codes)
                assert "contains rows of several recipients" in answers[0].text
