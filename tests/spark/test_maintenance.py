"""Iceberg tables are maintained on Spark through the service's API: equal rows before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from spark.maintained_tables import IcebergTables, refusal_of, result_of
from support.tasks.spark_tasks import task

from sluicegate_spark.maintenance.progress import finished_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark_tasks"),
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
]

NOW = "0s"


def test_compaction_waits_for_its_thresholds(tables: IcebergTables) -> None:
    name = "by_need"
    tables.write(name, "DELETE FROM {t} WHERE id % 10 = 3")
    rows, files = tables.rows(name), tables.files(name)

    def run(**properties: str) -> dict[str, Any]:
        return result_of(tables.run("TABLE_COMPACTION", name, **properties))

    few = run(only_if_small_files="5", only_if_deleted_rows="10.1%")
    assert (few["small_files"], few["deleted_rows"]) == (4, 4)
    larger = run(**{"only_if_small_files": "2", "min-file-size-bytes": "1"})
    assert larger["small_files"] == 0
    assert tables.files(name) == files
    reached = run(
        only_if_small_files="5",
        only_if_deleted_rows="10%",
        **{"delete-file-threshold": "1", "min-input-files": "2"},
    )
    assert reached["rewritten_data_files"] == 4
    tables.check(name, rows)
    assert run(only_if_small_files="2", only_if_deleted_rows="1")["small_files"] == 0


def test_small_files_of_different_partitions_are_not_counted(tables: IcebergTables) -> None:
    name = "by_need_parts"
    tables.write(name, files=0)
    with tables.table(name).update_spec() as spec:
        spec.add_identity("id")
    tables.write_rows(name, "SELECT 1L, 'a' UNION ALL SELECT 2L, 'b'")
    tables.write_rows(name, "SELECT 1L, 'c'")
    found = result_of(tables.run("TABLE_COMPACTION", name, only_if_small_files="3"))
    assert found["small_files"] == 2


def test_compaction_of_a_branch_counts_its_files(tables: IcebergTables) -> None:
    name = "by_need_branch"
    tables.write(name)
    table = tables.table(name)
    current = table.current_snapshot()
    assert current is not None
    table.manage_snapshots().create_branch(current.snapshot_id, "audit's").commit()
    tables.write_rows(name, "SELECT 99L, 'main'")
    found = result_of(tables.run("TABLE_COMPACTION", name, only_if_small_files="5", branch="audit's"))
    assert found["small_files"] == 4


def test_expiry_waits_for_its_thresholds(tables: IcebergTables) -> None:
    name = "expiry_by_need"
    tables.write(name)

    def run(**properties: str) -> dict[str, Any]:
        return result_of(tables.run("SNAPSHOT_EXPIRY", name, older_than=NOW, **properties))

    few = run(only_if_snapshots="5", only_if_older_than="1d")
    assert (few["snapshots"], few["old_snapshots"]) == (4, 0)
    assert len(tables.table(name).snapshots()) == 4
    tables.write_rows(name, "SELECT 99L, 'new'")
    assert "deleted_manifest_lists" in run(only_if_snapshots="5", only_if_older_than="1d")
    assert len(tables.table(name).snapshots()) == 1
    # The current snapshot is old, too, and can't be expired.
    assert run(only_if_older_than=NOW)["old_snapshots"] == 0


@pytest.fixture(scope="module")
def compacted(tables: IcebergTables) -> tuple[str, int]:
    """A compacted table with deleted rows, and its snapshot before the compaction."""
    tables.write("compacted", "DELETE FROM {t} WHERE id % 10 = 3")
    before, rows = tables.table("compacted").current_snapshot(), tables.rows("compacted")
    assert before is not None
    assert (len(tables.files("compacted")), len(tables.files("compacted", 1))) == (4, 4)
    tables.check("compacted", rows)
    done = result_of(
        tables.run(
            "TABLE_COMPACTION", "compacted", **{"delete-file-threshold": "1", "min-input-files": "2"}
        )
    )
    assert done["rewritten_data_files"] == done["removed_delete_files"] == 4
    assert done["added_data_files"] == 1
    assert done["rewritten_bytes"] > 0
    tables.check("compacted", rows)
    return "compacted", before.snapshot_id


def test_compaction_joins_files_and_takes_deleted_rows_out(
    tables: IcebergTables, compacted: tuple[str, int]
) -> None:
    name, before = compacted
    assert (len(tables.files(name)), tables.files(name, 1)) == (1, [])
    assert tables.rows(name, before).num_rows == 36
    again = result_of(tables.run("TABLE_COMPACTION", name))
    assert (again["rewritten_data_files"], again["added_data_files"]) == (0, 0)


def test_compaction_uses_its_options(tables: IcebergTables) -> None:
    tables.write("sorted")
    rows = tables.rows("sorted")
    told = {"strategy": "sort", "sort_order": "zorder(id, city)", "where": "city = 'it''s' OR id < 20"}
    done = result_of(tables.run("TABLE_COMPACTION", "sorted", **told, **{"rewrite-all": "true"}))
    assert done["rewritten_data_files"] == 2
    tables.check("sorted", rows)


def test_expiry_deletes_what_only_expired_snapshots_need(
    tables: IcebergTables, compacted: tuple[str, int]
) -> None:
    name, before = compacted
    rows, held = tables.rows(name), tables.objects(name)
    kept = result_of(tables.run("SNAPSHOT_EXPIRY", name))
    assert kept["files_deleted"] == 0
    done = result_of(tables.run("SNAPSHOT_EXPIRY", name, older_than=NOW, retain_last="1"))
    gone = held.keys() - tables.objects(name).keys()
    assert done["files_deleted"] == len(gone) > 0
    assert (done["deleted_data_files"], done["deleted_position_delete_files"]) == (4, 4)
    assert [each.snapshot_id for each in tables.table(name).snapshots()] != [before]
    with pytest.raises(Exception, match="Cannot find snapshot"):
        tables.rows(name, before)
    tables.check(name, rows)
    again = result_of(tables.run("SNAPSHOT_EXPIRY", name, older_than=NOW, retain_last="1"))
    assert again["files_deleted"] == 0


def test_orphans_are_removed_and_nothing_else(tables: IcebergTables) -> None:
    name = "with_orphans"
    tables.write(name, "DELETE FROM {t} WHERE id = 3")
    rows, held = tables.rows(name), tables.objects(name)
    tables.put(f"{name}/data/or phan%20.parquet", b"nobody knows me")
    tables.put(f"{name}/_hidden/notes.txt", b"somebody's own")
    young = result_of(tables.run("ORPHAN_FILE_REMOVAL", name))
    assert young["files_deleted"] == 0
    too_young = refusal_of(tables.run("ORPHAN_FILE_REMOVAL", name, older_than="2h"))
    assert "older_than is less than 24 hours ago" in too_young
    told = {"older_than": NOW, "force": "true"}
    shown = result_of(tables.run("ORPHAN_FILE_REMOVAL", name, **told, dry_run="true"))
    assert (shown["orphan_files"], shown["examples"]) == (1, "data/or phan%20.parquet")
    done = result_of(tables.run("ORPHAN_FILE_REMOVAL", name, **told))
    assert (done["files_deleted"], done["bytes_deleted"]) == (1, len(b"nobody knows me"))
    assert tables.objects(name).keys() == {*held, f"eu/{name}/_hidden/notes.txt"}
    tables.check(name, rows)
    assert result_of(tables.run("ORPHAN_FILE_REMOVAL", name, **told))["files_deleted"] == 0


def test_a_delta_table_in_the_directory_is_no_orphan(tables: IcebergTables) -> None:
    tables.write("both", files=1)
    tables.put("both/_delta_log/00000000000000000000.json", b"{}")
    refused = refusal_of(tables.run("ORPHAN_FILE_REMOVAL", "both"))
    assert "it has '_delta_log/00000000000000000000.json'" in refused


@pytest.mark.parametrize(
    ("operation", "properties", "message"),
    [
        ("TABLE_COMPACTION", {"min-input-file": "2"}, "the most similar one is 'min-input-files'"),
        (
            "TABLE_COMPACTION",
            {"min-input-files": "few"},
            "'min-input-files': input should be a",
        ),
        (
            "TABLE_COMPACTION",
            {"strategy": "shuffle"},
            "'strategy': input should be 'binpack'",
        ),
        ("SNAPSHOT_EXPIRY", {"older_than": "yesterday"}, "expected a time like 2026-11-01T00:00:00Z"),
        ("SNAPSHOT_EXPIRY", {"retain_last": "0"}, "'retain_last': input should be greater"),
        (
            "TABLE_COMPACTION",
            {"only_if_deleted_rows": "some"},
            "'only_if_deleted_rows': expected a number of rows, like 10000, or a part of all rows",
        ),
        ("TABLE_COMPACTION", {"only_if_small": "2"}, "the most similar one is 'only_if_small_files'"),
        ("TABLE_VACUUM", {}, "TABLE_VACUUM is for Delta tables, and this is an Iceberg table"),
    ],
)
def test_wrong_properties_are_reported(
    tables: IcebergTables,
    compacted: tuple[str, int],
    operation: str,
    properties: dict[str, str],
    message: str,
) -> None:
    answer = tables.run(operation, compacted[0], **properties)
    assert answer.status_code == 400
    assert message in refusal_of(answer)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"where": "nope = 1"}, "'where': the table has no column `nope`; its columns are id, city"),
        ({"where": "current_user = 'root'"}, "the table has no column `current_user`"),
        ({"where": "_file = 'x'"}, "the table has no column `_file`"),
        ({"strategy": "sort", "sort_order": "nope"}, "'sort_order': the table has no column `nope`"),
    ],
)
def test_columns_are_the_tables(
    tables: IcebergTables, compacted: tuple[str, int], properties: dict[str, str], message: str
) -> None:
    assert message in refusal_of(tables.run("TABLE_COMPACTION", compacted[0], **properties))


@pytest.mark.parametrize(
    ("properties", "message"),
    [({"where": "id = DATE '2026-01-01'"}, "Cannot parse predicates in where option")],
)
def test_a_statement_that_cannot_be_is_not_tried_again(
    tables: IcebergTables, compacted: tuple[str, int], properties: dict[str, str], message: str
) -> None:
    answer = tables.run("TABLE_COMPACTION", compacted[0], **properties)
    assert message in refusal_of(answer, "ENGINE_FAILED")
    assert tables.tasks.record(answer.json()["delegation_task_id"])["attempt_count"] == 1


def test_what_the_catalog_does_not_show_is_not_maintained(tables: IcebergTables) -> None:
    missing = tables.run("TABLE_COMPACTION", "missing")
    assert "shows no such table" in refusal_of(missing, "CREDENTIAL_VENDING_FAILED")
    payload = task(
        "TABLE_COMPACTION", "elsewhere", catalog="unknown", config=_CONFIG, properties=_THERE
    )
    assert "'unknown' is not configured for the executor" in refusal_of(tables.tasks.execute(payload))


def test_names_are_only_names(tables: IcebergTables) -> None:
    name = "not-a-name"  # without quotes
    tables.tasks.writer.create_table(("eu", name), schema=pa.schema([("id", pa.int64())]))
    assert result_of(tables.run("TABLE_COMPACTION", name))["rewritten_data_files"] == 0


def test_spark_reports_which_tasks_of_a_session_are_done(spark: SparkSession) -> None:
    session = spark.newSession()
    assert finished_tasks(session) == (0, 0)
    session.range(0, 100, 1, 4).count()
    done, known = finished_tasks(session)
    assert done == known >= 4


def test_nothing_secret_is_logged(tables: IcebergTables, compacted: tuple[str, int]) -> None:
    assert tables.tasks.server.admin.secret_access_key not in tables.tasks.log
    assert "Traceback" not in tables.tasks.log


_CONFIG = {"s3.access-key-id": "a", "s3.secret-access-key": "b", "s3.session-token": "c"}
_THERE = {"location": "s3://warehouse/eu/elsewhere"}
