"""How a refresh writes a copy: with the changes of its source, or with all rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sluicegate_spark.cluster import KeptFrames, is_connect
from sluicegate_spark.copies.config import CopyConfig
from sluicegate_spark.failures import failed_on_spark
from sluicegate_spark.materialization.copy_state import Base, State, keyed_digest
from sluicegate_spark.materialization.copy_table import CopyTable, Latest
from sluicegate_spark.materialization.incremental.delta_changes import OF_FEED
from sluicegate_spark.materialization.incremental.iceberg_changes import OF_CHANGELOG
from sluicegate_spark.materialization.incremental.row_changes import Changes, changes_of
from sluicegate_spark.materialization.incremental.rules import RebuildRequired, continued
from sluicegate_spark.materialization.incremental.source_version import SourceVersion
from sluicegate_spark.materialization.query import query_rows
from sluicegate_spark.materialization.shared_rows import (
    count_left_out,
    partition_columns,
    shared_rows,
)
from sluicegate_spark.materialization.sources import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_SINGLE: Final = ""  # name of a source that no query names


@dataclass(frozen=True, slots=True)
class Plan:
    """What a refresh writes.

    Attributes:
        changes: What it writes; `None` if it writes all rows, or nothing.
        reason: Why it writes all rows; empty if it does not.
    """

    versions: Mapping[str, SourceVersion]
    state: State
    latest: Latest | None
    changes: Changes | None = None
    reason: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a refresh did.

    Attributes:
        numbers: The version of the copy, and the numbers of its rows and files; `None` if nothing was
            written.
        left_out: Number of rows that were not written, because no recipient can have them.
    """

    state: State
    numbers: Mapping[str, int] | None = None
    changes: Changes | None = None
    reason: str = ""
    left_out: int = 0


class CopyRefresh:
    """The refresh of a copy. Methods block."""

    def __init__(
        self, copy: CopyConfig, key: bytes, sources: Mapping[str, Source], table: CopyTable
    ) -> None:
        self._copy = copy
        self._key = key
        self._sources = sources
        self._table = table
        self._kept = KeptFrames()

    def plan(self, spark: SparkSession, *, force: bool) -> Plan:
        """Return what to write. Changes are read and kept, until `release`."""
        versions = {alias: source.version(spark) for alias, source in self._sources.items()}
        now = State(self._origin(versions), datetime.now(UTC))
        latest = self._table.latest(spark)
        before = None if latest is None else latest.state
        if latest is not None and before is not None and before.origin == now.origin and not force:
            return Plan(versions, before, latest)
        base = self._base(spark, versions)
        rebuilt = State(now.origin, now.refreshed_at, base)
        try:
            if latest is None:
                raise RebuildRequired("there was no copy")
            if force:
                raise RebuildRequired("the task has the property 'force'")
            if _SINGLE not in self._sources:
                raise RebuildRequired("it is the result of a query")
            if is_connect(spark):
                raise RebuildRequired("incremental refreshes are not possible with Spark Connect")
            if base is None:
                raise RebuildRequired(_why_no_base(versions[_SINGLE]))
            start = continued(None if before is None else before.base, base.basis)
            changes, left_out = self._changes(spark, start, versions[_SINGLE])
        except RebuildRequired as why:
            return Plan(versions, rebuilt, latest, reason=str(why))
        following = Base(base.basis, base.version, base.commit, start.refreshes + 1)
        state = State(now.origin, now.refreshed_at, following)
        return Plan(versions, state, latest, changes, left_out=left_out)

    def write(self, spark: SparkSession, plan: Plan) -> Outcome:
        """Write what was planned, in one commit."""
        if plan.changes is not None and plan.latest is not None:
            partitions = partition_columns(plan.changes.schema, self._copy)
            numbers = self._table.apply(plan.changes, partitions, plan.state, plan.latest)
            return Outcome(plan.state, numbers, plan.changes, left_out=plan.left_out)
        if plan.reason:
            rows = self._source_rows(spark, plan.versions)
            partitions = partition_columns(rows.schema, self._copy)
            shared = shared_rows(rows, self._copy, self._key, self._table.location)
            left_out = count_left_out(rows, self._copy, self._table.location)
            numbers = self._table.replace(shared, partitions, plan.state, plan.latest)
            return Outcome(plan.state, numbers, reason=plan.reason, left_out=left_out)
        if plan.latest is not None and not plan.latest.is_described:
            self._table.describe(spark, plan.state)
        return Outcome(plan.state)

    def release(self, spark: SparkSession) -> None:
        """Release what was kept."""
        del spark
        self._kept.drop()

    def _origin(self, versions: Mapping[str, SourceVersion]) -> str:
        """Return a digest of everything that the content of the copy depends on."""
        texts = {alias: each.text for alias, each in versions.items()}
        return keyed_digest(self._key, self._copy.model_dump(mode="json"), texts)

    def _base(self, spark: SparkSession, versions: Mapping[str, SourceVersion]) -> Base | None:
        source = self._sources.get(_SINGLE)
        if source is None or is_connect(spark):
            return None
        try:
            return source.base(spark, self._copy, versions[_SINGLE], self._key)
        except Exception as error:
            if failed_on_spark(error) is None:
                raise
            log.warning("the version of a source of a copy can't be recorded: %s", _kind(error))
            return None

    def _changes(self, spark: SparkSession, base: Base, version: SourceVersion) -> tuple[Changes, int]:
        """Return the changes of the copy, and how many added rows no recipient can have."""
        try:
            return self._read_changes(spark, base, version)
        except Exception as error:
            if failed_on_spark(error) is None:
                raise
            # Files can be missing in many ways, for example because of a VACUUM.
            log.warning("the changes of a source of a copy can't be read: %s", _kind(error))
            raise RebuildRequired("Spark can't read the changes; the worker's log says why") from error

    def _read_changes(
        self, spark: SparkSession, base: Base, version: SourceVersion
    ) -> tuple[Changes, int]:
        source = self._sources[_SINGLE]
        schema = source.rows(spark, version).schema
        if reserved := {*map(str.lower, schema.names)} & {*OF_FEED, *OF_CHANGELOG}:
            raise RebuildRequired(f"the source has the column {min(reserved)}, as changes have")
        read = source.changes(spark, base, version, self._key)
        copied = self._table.rows(spark)
        added, removed = (
            None if rows is None else self._shared(rows, schema, copied.schema)
            for rows in (read.added, read.removed)
        )
        left_out = (
            0 if read.added is None else count_left_out(read.added, self._copy, self._table.location)
        )
        return changes_of(self._kept, added, removed, copied), left_out

    def _shared(self, rows: DataFrame, source: StructType, copied: StructType) -> DataFrame:
        """Return what recipients see of rows of a source."""
        if _types(rows.schema) != _types(source):
            raise RebuildRequired("the changes have other columns than the source")
        shared = shared_rows(rows, self._copy, self._key, self._table.location)
        if _types(shared.schema) != _types(copied):
            raise RebuildRequired("the copy has other columns")
        return shared

    def _source_rows(self, spark: SparkSession, versions: Mapping[str, SourceVersion]) -> DataFrame:
        frames = {alias: source.rows(spark, versions[alias]) for alias, source in self._sources.items()}
        return (
            frames[_SINGLE] if self._copy.query is None else query_rows(spark, self._copy.query, frames)
        )


def _kind(error: Exception) -> str:
    """Return the type of an error and Spark's name of it. Its text could contain hidden values."""
    names = _CONDITION.findall(str(error))
    return " ".join([type(error).__name__, *names[:1]])


def _types(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def _why_no_base(version: SourceVersion) -> str:
    try:
        version.readable()
    except RebuildRequired as why:
        return str(why)
    return "the commit with the current version of the source can't be read"
