"""Refreshes apply only what changed in a source, and copies equal those that are rebuilt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from spark.materialized_copies import Copies, catalog_of, hashed
from support.gateways.iceberg_rest import SCHEMA as NAMESPACE
from support.servers.task_engine import SharedSpark
from support.tasks.spark_tasks import CATALOG, catalogs_of

from sluicegate.api import TaskFailed
from sluicegate_spark.materialization.copy_table import CopyTable
from sluicegate_spark.materialization.incremental.delta_changes import commits_between
from sluicegate_spark.materialization.incremental.rules import RebuildRequired
from sluicegate_spark.materialization.refresh_plan import CopyRefresh, Outcome, Plan
from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

at_night = pytest.mark.night("test_a_change_data_feed_is_applied_to_equal_rows_one_by_one")
NAME = "sales.events"
COLUMNS = (
    "id BIGINT, country STRING, `row` STRING, x DOUBLE, f FLOAT, tags ARRAY<STRING>, "
    "part STRUCT<net: INT, op: STRING>, email STRING, secret STRING"
)
NOT_INCREMENTAL = "incremental refreshes are not possible with Spark Connect"
COPY = {
    "rows": "secret <> 'draft'",
    "recipient_columns": {"country": "country"},
    "columns": {"secret": "hide", "email": "hash"},
    "cluster_by": ["id"],
    "retention": 0,
}
SHARED = (
    "id, country, `row`, CAST(x AS STRING) AS x, CAST(f AS STRING) AS f, tags, part.op AS op, email"
)


@dataclass
class Source:
    """A table, and its copy `NAME`.

    Attributes:
        is_connect: Whether a refresh always writes all rows, because Spark Connect cannot read changes.
    """

    copies: Copies
    table: str
    is_connect: bool

    def sql(self, *statements: str) -> None:
        for each in statements:
            self.copies.spark.sql(each.format(t=self.table))

    def insert(self, *rows: str) -> None:
        # In one file, so that a delete of some of them can't remove the file.
        self.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}")

    @property
    def location(self) -> Path:
        return self.copies.location(NAME)

    def refresh(self, **properties: str) -> Mapping[str, Any]:
        """Refresh the copy, check what it contains, and return what the task says."""
        further = self.copies.refresh(NAME, **properties).further
        self.check()
        return further

    def incremental(self, added: int, removed: int) -> None:
        """Refresh, and fail unless only this was written, in the same table."""
        if self.is_connect:
            self.rebuilt(NOT_INCREMENTAL)
            return
        before = table_id(self.location)
        further = self.refresh()
        assert further["refresh"] == "incremental", further
        assert (further["rows_added"], further["rows_removed"]) == (added, removed)
        assert table_id(self.location) == before

    def rebuilt(self, reason: str) -> None:
        expected = NOT_INCREMENTAL if self.is_connect and self.location.exists() else reason
        further = self.refresh()
        assert further["refresh"] == "rebuilt", further
        assert expected in further["reason"]

    def check(self) -> None:
        """Fail if the copy, or any file, contains something else than Spark finds in the source."""
        spark = self.copies.spark
        found = spark.sql(f"SELECT {SHARED} FROM delta.`file://{self.location}`").collect()
        expected = spark.sql(
            f"SELECT {SHARED} FROM {self.table} WHERE secret <> 'draft' AND country <> ''"
        ).collect()
        rows = [row.asDict(recursive=True) for row in expected]
        wanted = [row | {"email": hashed(row["email"])} for row in rows]
        assert counted(found) == counted(wanted)
        self.check_files({(f"country={row['country']}", row["id"]) for row in rows})

    def check_files(self, shared: set[tuple[str, int]]) -> None:
        """Fail if a file that is still there contains what its recipient can't see, or no longer."""
        kept = [each for each in self.location.rglob("*") if each.is_file()]
        assert not [each for each in kept if "_change_data" in each.parts or each.suffix == ".bin"]
        data = [each for each in kept if each.suffix == ".parquet" and each.parent.name != "_delta_log"]
        assert len(data) == len(DeltaTable(self.location).file_uris())
        for path in data:
            rows = pq.ParquetFile(path).read().to_pylist()
            assert {(path.parent.name, row["id"]) for row in rows} <= shared
            assert all("secret" not in row for row in rows)
        log = "".join(each.read_text() for each in (self.location / "_delta_log").glob("*.json"))
        assert "hidden-" not in log
        assert "deletionVector" not in log


def counted(rows: list[Any]) -> Counter[str]:
    return Counter(json.dumps(dict(row.asDict() if hasattr(row, "asDict") else row)) for row in rows)


def table_id(location: Path) -> str:
    return str(DeltaTable(location).metadata().id)


def row(number: int, x: str = "1.5", country: str = "DE", hidden: str = "hidden-1") -> str:
    return (
        f"({number}, '{country}', 'r', double('{x}'), float('{x}'), array('a', NULL), "
        f"named_struct('net', 1, 'op', 'delete'), 'm{number}@x.de', '{hidden}')"
    )


Writer = Callable[[str], Source]


@pytest.fixture
def delta(shared_spark: SharedSpark, tmp_path: Path) -> Writer:
    def written(properties: str) -> Source:
        session = shared_spark.session()
        place = f"file://{tmp_path}/events"
        table = f"delta.`{place}`"
        session.sql(f"CREATE TABLE {table} ({COLUMNS}) USING delta TBLPROPERTIES ({properties})")
        tables = {NAME: {"source": {"location": place}, **COPY}}
        copies = Copies(session, shared_spark.executor, tmp_path, tables)
        return Source(copies, table, is_connect=shared_spark.is_connect)

    return written


FEED = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"


def test_a_change_data_feed_is_applied_to_equal_rows_one_by_one(delta: Writer) -> None:
    source = delta(FEED)
    source.insert(row(1), row(1), row(1, hidden="hidden-2"))
    source.insert(row(2, "-0.0"), row(2, "0.0"), row(3, "NaN"), row(5, hidden="draft"), row(9))
    source.rebuilt("there was no copy")
    source.insert(row(1, hidden="hidden-3"), row(4, country="FR"), row(6, country=""))
    source.sql(
        "DELETE FROM {t} WHERE secret IN ('hidden-2', 'hidden-3')",
        "DELETE FROM {t} WHERE id = 9 OR id = 2 AND string(x) = '0.0'",
        "UPDATE {t} SET secret = 'hidden-4' WHERE id = 1",
        "UPDATE {t} SET secret = 'shared' WHERE id = 5",
        "MERGE INTO {t} t USING (SELECT 3 AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET country = 'FR', x = double('-0.0')",
    )
    source.incremental(3, 4)
    source.insert(row(1))
    source.incremental(1, 0)


@at_night
def test_files_that_only_add_rows_need_no_change_data_feed(delta: Writer) -> None:
    source = delta("'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'")
    source.insert(row(1), row(2, country="FR"))
    source.rebuilt("there was no copy")
    source.insert(row(1), row(3, "-0.0"))
    source.insert(row(4, country="FR"))
    source.sql("OPTIMIZE {t}")
    source.incremental(3, 0)
    source.sql("DELETE FROM {t} WHERE id = 1")
    source.rebuilt("version 5 deleted or updated rows, and the source has no change data feed")
    source.sql("ALTER TABLE {t} ADD COLUMN more INT")
    source.rebuilt("version 6 changed the source's columns, properties, or protocol")


@pytest.fixture
def iceberg(shared_spark: SharedSpark, iceberg_server: SeaweedFS, tmp_path: Path) -> Source:
    session = shared_spark.session()
    catalog = catalog_of(session, iceberg_server)
    table = f"{catalog}.{NAMESPACE}.events"
    session.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    section = {"source": {"catalog": CATALOG, "table": f"{NAMESPACE}.events"}, **COPY}
    catalogs = catalogs_of(iceberg_server)
    copies = Copies(session, shared_spark.executor, tmp_path, {NAME: section}, catalogs)
    return Source(copies, table, is_connect=shared_spark.is_connect)


@at_night
def test_snapshots_are_applied_unless_they_have_delete_files(iceberg: Source) -> None:
    source = iceberg
    source.insert(row(1), row(1), row(2), row(3, country="FR"))
    source.rebuilt("there was no copy")
    source.insert(row(1), row(4, "-0.0"))
    source.incremental(2, 0)
    source.sql(
        "DELETE FROM {t} WHERE id = 2",
        "UPDATE {t} SET country = 'FR' WHERE id = 4",
        "INSERT INTO {t} SELECT * FROM {t} WHERE id = 3",
    )
    source.incremental(2, 2)
    source.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    source.incremental(0, 0)
    source.sql("ALTER TABLE {t} ADD COLUMN more INT")
    source.rebuilt("its columns have changed since its current snapshot")
    source.insert(row(7).replace("'hidden-1')", "'hidden-1', 1)"))
    source.rebuilt("the last refresh recorded no version of the source")
    source.sql("DELETE FROM {t} WHERE id = 1")
    source.rebuilt("delete files, which Iceberg's changelog does not support")


@at_night
def test_a_refresh_that_was_overtaken_or_killed_applies_nothing_twice(
    delta: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = delta(FEED)
    if source.is_connect:
        pytest.skip(NOT_INCREMENTAL)
    source.insert(row(1), row(2), row(3))
    source.rebuilt("there was no copy")
    source.insert(row(1))
    write = CopyRefresh.write

    def overtaken(refresh: CopyRefresh, spark: SparkSession, plan: Plan) -> Outcome:
        monkeypatch.undo()
        source.sql("DELETE FROM {t} WHERE id = 2")
        source.incremental(1, 1)
        return write(refresh, spark, plan)

    monkeypatch.setattr(CopyRefresh, "write", overtaken)
    with pytest.raises(TaskFailed, match="another task changed the copy at the same time") as failed:
        source.refresh()
    assert failed.value.retryable
    assert source.refresh()["refresh"] == "none"

    def killed(*_: object) -> None:
        raise ConnectionError

    source.insert(row(4))
    monkeypatch.setattr(CopyTable, "describe", killed)
    with pytest.raises(TaskFailed):
        source.refresh()
    monkeypatch.undo()
    source.check()
    version = DeltaTable(source.location).version()
    for _ in range(2):  # the first one writes the time that the killed one did not write
        refreshed = source.refresh()
        assert refreshed["refresh"] == "none"
        assert described(source.location) == refreshed["refreshed_at"][:19]
        assert DeltaTable(source.location).version() == version + 1
    source.insert(row(5))
    source.incremental(1, 0)
    source.copies.spark.sql(f"DELETE FROM delta.`file://{source.location}` WHERE id = 5")
    source.rebuilt("someone else changed the copy")
    source.sql("UPDATE {t} SET country = 'FR' WHERE id = 3")
    rmtree(source.copies.folder / "events" / "_change_data")
    source.rebuilt("Spark can't read the changes")


def described(location: Path) -> str:
    return str(DeltaTable(location).metadata().description).removeprefix("Data of ")[:19]


VECTOR = {"storageType": "u", "pathOrInlineDv": "ab:../xyz..uvw/rst..qp"}


def test_commits_of_a_log_are_summarized(shared_spark: SharedSpark, tmp_path: Path) -> None:
    if shared_spark.is_connect:
        pytest.skip(NOT_INCREMENTAL)
    spark = shared_spark.session()
    log = tmp_path / "_delta_log"
    log.mkdir()
    file = {"path": "a%20b/c.parquet", "size": 10, "dataChange": True, "partitionValues": {"a": None}}
    written: list[list[dict[str, Any]]] = [
        [{"metaData": {"id": "1"}}, {"protocol": {"minReaderVersion": 1}}, {"add": file}],
        [
            {"commitInfo": {"operation": "MERGE", "txnId": "x"}},
            *({"add": file}, {"remove": file | {"size": 7}}, {"cdc": file | {"size": 3}}),
        ],
        [{"add": file | {"dataChange": False}}, {"remove": file | {"dataChange": False}}],
        [{"add": file}, {"remove": {"path": "b", "size": 7}}],
        [{"add": file | {"deletionVector": VECTOR}}],
        [{"add": file | {"path": "../b"}}],
        [{"cdc": file | {"path": "s3://elsewhere/b"}}],
        [{"remove": file | {"path": "a/%2E%2e/b"}}],
        [
            {
                "add": file
                | {"deletionVector": {"storageType": "p", "pathOrInlineDv": "s3://elsewhere/b"}}
            }
        ],
        [{"add": file | {"deletionVector": VECTOR | {"pathOrInlineDv": "../" + "x" * 20}}}],
        [],
    ]
    for version, actions in enumerate(written):
        lines = "".join(f"{json.dumps(each)}\n" for each in actions)
        (log / f"{version:020d}.json").write_text(lines)
    last = len(written) - 2
    found = commits_between(spark, f"file://{tmp_path}", 0, last, b"key")
    assert [each.version for each in found] == list(range(last + 1))
    assert [each.changes_table for each in found] == [True] + [False] * last
    assert [(each.added, each.removed, each.changed_bytes) for each in found[:5]] == [
        *((1, 0, 10), (1, 1, 3), (0, 0, 0), (1, 1, 17), (1, 1, 10)),
    ]
    assert [each.leads_elsewhere for each in found] == [False] * 5 + [True] * 5
    assert found[1].operation == "MERGE"
    assert found[1].digest not in {each.digest for each in found if each.version != 1}
    assert commits_between(spark, f"file://{tmp_path}", 1, 1, b"key") == [found[1]]
    for first, to, reason in (
        (last, last + 1, "a commit without actions"),
        (last, last + 2, "no longer contains all commits"),
        (1, 0, "version 1 of the source was copied, but its last one is 0"),
        (0, 1001, "more than 1,000 new commits"),
    ):
        with pytest.raises(RebuildRequired, match=reason):
            commits_between(spark, f"file://{tmp_path}", first, to, b"key")
    (log / f"{1:020d}.json").write_text('{"add": ["of another form"]}')
    with pytest.raises(Exception, match="MALFORMED_RECORD"):
        commits_between(spark, f"file://{tmp_path}", 1, 1, b"key")
