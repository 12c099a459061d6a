"""Reads what commits of a Delta table changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.materialization.copy_state import Base, keyed_digest
from sluicegate_spark.materialization.incremental.rules import (
    MAX_COMMITS,
    DeltaCommit,
    RebuildRequired,
    way_of_delta,
)
from sluicegate_spark.materialization.incremental.source_version import SourceChanges, without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sluicegate_spark.materialization.incremental.source_version import SourceVersion

OF_FEED: Final = ("_change_type", "_commit_version", "_commit_timestamp")
_FILE: Final = "path STRING, size BIGINT, dataChange BOOLEAN"
_VECTOR: Final = "deletionVector STRUCT<storageType: STRING, pathOrInlineDv: STRING>"
_ADD: Final = f"{_FILE}, partitionValues MAP<STRING, STRING>, modificationTime BIGINT, {_VECTOR}"
_ACTIONS: Final = (
    f"add STRUCT<{_ADD}>, remove STRUCT<{_FILE}, {_VECTOR}>, cdc STRUCT<path: STRING, size: BIGINT>, "
    "metaData STRING, protocol STRING, commitInfo STRING"
)
_IS_ADDED: Final = "add IS NOT NULL AND coalesce(add.dataChange, true)"
_IS_REMOVED: Final = "remove IS NOT NULL AND coalesce(remove.dataChange, true)"
_HAS_VECTOR: Final = f"{_IS_ADDED} AND add.deletionVector IS NOT NULL"
# With a change data feed, a commit has either files of changes, or only rows that it adds or removes.
_BYTES: Final = (
    "if(count(cdc) > 0, sum(coalesce(cdc.size, 0)), "
    f"sum(if({_IS_ADDED}, add.size, 0) + if({_IS_REMOVED}, remove.size, 0)))"
)
# The directory of a relative deletion vector is followed by 20 characters that can be any.
_DIRECTORY: Final = (
    "if({0}.storageType = 'p', '/', if({0}.storageType = 'u', "
    "left({0}.pathOrInlineDv, length({0}.pathOrInlineDv) - 20), ''))"
)
_ELSEWHERE: Final = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|\.\.|%2[eE]|\\"


def commits_between(
    spark: SparkSession, location: str, first: int, last: int, key: bytes
) -> list[DeltaCommit]:
    """Return commits of a Delta table in their order."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    if last < first:
        raise RebuildRequired(f"version {first} of the source was copied, but its last one is {last}")
    if last - first > MAX_COMMITS:
        raise RebuildRequired(f"the source has more than {MAX_COMMITS:,} new commits")
    try:
        actions = _actions(spark, location, first, last)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise RebuildRequired("the log of the source no longer contains all commits") from error
    elsewhere = [
        F.coalesce(F.expr(path).rlike(_ELSEWHERE), F.expr("false"))
        for path in (
            "add.path",
            "remove.path",
            "cdc.path",
            _DIRECTORY.format("add.deletionVector"),
            _DIRECTORY.format("remove.deletionVector"),
        )
    ]
    rows: list[Any] = list(
        actions.withColumn("elsewhere", F.greatest(*elsewhere))
        .groupBy("file")
        .agg(
            F.expr("max(left(get_json_object(commitInfo, '$.operation'), 32)) AS operation"),
            F.expr("max(sha2(commitInfo, 256)) AS info"),
            F.expr(f"count_if({_IS_ADDED}) AS added"),
            F.expr(f"count_if({_IS_REMOVED} OR {_HAS_VECTOR}) AS removed"),
            F.expr(f"{_BYTES} AS bytes"),
            F.expr("count(metaData) + count(protocol) > 0 AS changes_table"),
            F.expr("bool_or(elsewhere) AS elsewhere"),
        )
        .collect()
    )
    found = [
        DeltaCommit(
            version=int(row["file"].partition(".")[0]),
            operation=str(row["operation"]),
            digest=keyed_digest(key, row["info"]),
            added=int(row["added"]),
            removed=int(row["removed"]),
            changed_bytes=int(row["bytes"] or 0),
            changes_table=bool(row["changes_table"]),
            leads_elsewhere=bool(row["elsewhere"]),
        )
        for row in rows
    ]
    if sorted(each.version for each in found) != list(range(first, last + 1)):
        raise RebuildRequired("the log of the source has a commit without actions")
    return sorted(found, key=lambda each: each.version)


def changes_of_delta(
    spark: SparkSession, location: str, base: Base, version: SourceVersion, key: bytes
) -> SourceChanges:
    """Return the rows that were added to a Delta table, and those that were removed."""
    last = version.readable()
    commits = commits_between(spark, location, base.version, last, key)
    way = way_of_delta(commits, base, version.table_bytes, has_feed=version.has_feed)
    if way == "nothing":
        return SourceChanges()
    if way == "files":
        return SourceChanges(added=_added_rows(spark, location, base.version + 1, last))
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", base.version + 1)
        .option("endingVersion", last)
        .load(location)
    )
    return SourceChanges(
        without(feed.where("_change_type IN ('insert', 'update_postimage')"), OF_FEED),
        without(feed.where("_change_type IN ('delete', 'update_preimage')"), OF_FEED),
    )


def _actions(spark: SparkSession, location: str, first: int, last: int) -> DataFrame:
    files = [f"{location}/_delta_log/{number:020d}.json" for number in range(first, last + 1)]
    # A line that isn't understood must not be ignored.
    reader = spark.read.schema(_ACTIONS).option("mode", "FAILFAST")
    return reader.json(files).select("*", "_metadata.file_name").withColumnRenamed("file_name", "file")


def _added_rows(spark: SparkSession, location: str, first: int, last: int) -> DataFrame:
    """Return the rows of files that commits added, which later ones might have compacted."""
    from pyspark.sql import DataFrame

    added = _actions(spark, location, first, last).where(_IS_ADDED)
    lines: Sequence[Any] = list(added.selectExpr("to_json(struct(add)) AS line").collect())
    internal: Any = spark
    jvm: Any = internal._jvm
    actions = jvm.org.apache.spark.sql.delta.actions.Action
    files = jvm.java.util.ArrayList()
    for each in lines:
        files.add(actions.fromJson(each["line"]))
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(internal._jsparkSession, location)
    scala_files = jvm.scala.jdk.javaapi.CollectionConverters.asScala(files).toSeq()
    with _active(jvm, internal._jsparkSession):
        snapshot = _call(log, "getSnapshotAt", last)
        frame = _call(log, "createDataFrame", snapshot, scala_files, False)
    return DataFrame(frame, internal)


@contextmanager
def _active(jvm: Any, session: Any) -> Iterator[None]:
    """Make a session the one in which Delta creates frames, instead of the last one of the thread.

    A frame of another session would be written without the settings of this one.
    """
    sessions = jvm.org.apache.spark.sql.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _call(target: Any, name: str, *arguments: Any) -> Any:
    """Call a method of Scala with the defaults of its other parameters."""
    known = frozenset(dir(target))
    given = list(arguments)
    while (default := f"{name}$default${len(given) + 1}") in known:
        given.append(getattr(target, default)())
    return getattr(target, name)(*given)
