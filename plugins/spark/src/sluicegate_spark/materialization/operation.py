"""REFRESH_MATERIALIZATION: writes a copy that contains only what recipients can see."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
from pydantic import Field, model_validator

from sluicegate.api import DelegatedTask, SecretStr, TaskFailed, TaskResult
from sluicegate_spark.copies.config import (
    CopyConfig,
    MaterializedConfig,
    recipient_filter,
)
from sluicegate_spark.maintenance.progress import watched
from sluicegate_spark.maintenance.session import DELTA
from sluicegate_spark.maintenance.sql import SETTINGS
from sluicegate_spark.maintenance.storage_settings import closed_for_hadoop
from sluicegate_spark.materialization import copy_table
from sluicegate_spark.materialization.copy_table import CopyTable, State
from sluicegate_spark.materialization.query import query_rows
from sluicegate_spark.materialization.shared_rows import partition_columns, shared_rows
from sluicegate_spark.materialization.sources import Source, delta_settings, open_sources
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sluicegate_spark.engine import TaskSession

_FORMAT: Final = 1  # if copies of the same sources become different ones, they are written again
_STAGE: Final = "refresh"
_ORIGINS: Final = b"sluicegate: origin of a copy"


class Refresh(Properties):
    """Properties of REFRESH_MATERIALIZATION."""

    force: bool = Field(
        default=False, description="Write the copy again, even if its sources have not changed."
    )

    @model_validator(mode="after")
    def _refuse_location(self) -> Refresh:
        if self.location is not None:
            raise ValueError("'location' does not apply: the configuration names the directory")
        return self


class _Outcome(NamedTuple):
    state: State
    written: Mapping[str, int] | None


async def refresh_materialization(work: Work) -> TaskResult:
    """Refresh the copy of a task.

    Raises:
        TaskFailed: The copy could not be made. Recipients continue to read its last version, whose age
            the message contains, unless Spark does not respond.
    """
    properties = parse(Refresh, work.task.properties)
    materialized, name = configured_copy(work.materialized, work.task)
    copy = materialized.tables[name]
    table = CopyTable(work.access.table.location, copy)
    target = await delta_settings(work.access)
    try:
        sources = await open_sources(work, materialized, name)
        opened = {key: value for each in sources.values() for key, value in each.settings.items()}
        async with _session(work, {**opened, **target}) as session:
            outcome = await _refreshed(work, session, sources, table, force=properties.force)
            await work.run.check_lease()
            await watched(work, session, "vacuum", table.vacuum)
    except TaskFailed as failed:
        raise _with_age(failed, await _last_state(work, failed, table, target)) from failed
    return _result(name, copy, outcome)


def _session(
    work: Work, opened: Mapping[str, str | SecretStr]
) -> AbstractAsyncContextManager[TaskSession]:
    settings = {**SETTINGS, **DELTA, **copy_table.SETTINGS, **closed_for_hadoop()}
    return work.engine.session(work.task.id, {**settings, **opened})


async def _last_state(
    work: Work, failed: TaskFailed, table: CopyTable, target: Mapping[str, str | SecretStr]
) -> State | None:
    """Return what recipients read after a failure, or `None` if there is nothing, or it is unknown."""
    if failed.error_code == "ENGINE_FAILED" and failed.retryable:
        return None
    try:
        async with _session(work, target) as session:
            return await session.run(table.state)
    except TaskFailed:
        return None


def configured_copy(
    materialized: MaterializedConfig | None, task: DelegatedTask
) -> tuple[MaterializedConfig, str]:
    """Return the section of the copies, and the name of the task's copy.

    Raises:
        TaskFailed: There is no such copy (`INVALID_PAYLOAD`).
    """
    name = ".".join((*task.table.namespace, task.table.name))
    if materialized is None or name not in materialized.tables:
        raise TaskFailed(
            f"the executor's section 'materialized' has no table '{name[:255]}'",
            error_code="INVALID_PAYLOAD",
        )
    return materialized, name


async def _refreshed(
    work: Work,
    session: TaskSession,
    sources: Mapping[str, Source],
    table: CopyTable,
    *,
    force: bool,
) -> _Outcome:
    materialized, name = configured_copy(work.materialized, work.task)
    copy, key = materialized.tables[name], materialized.key.get_secret_value().encode()
    for source in sources.values():
        await source.prepare(session)

    def refresh(spark: SparkSession) -> _Outcome:
        # Versions are read before rows: if a source changes in between, the next refresh notices.
        versions = {alias: source.version(spark) for alias, source in sources.items()}
        state = State(_origin(copy, versions, key), datetime.now(UTC))
        before = table.state(spark)
        if before is not None and before.origin == state.origin and not force:
            return _Outcome(before, None)
        rows = _source_rows(spark, copy, sources)
        partitions = partition_columns(rows.schema, copy)
        return _Outcome(state, table.replace(shared_rows(rows, copy, key), partitions, state))

    await work.run.check_lease()
    return await watched(work, session, _STAGE, refresh)


def _source_rows(spark: SparkSession, copy: CopyConfig, sources: Mapping[str, Source]) -> DataFrame:
    frames = {alias: source.rows(spark) for alias, source in sources.items()}
    return frames[""] if copy.query is None else query_rows(spark, copy.query, frames)


def _origin(copy: CopyConfig, versions: Mapping[str, str], key: bytes) -> str:
    """Return a digest of everything that the content of a copy depends on.

    It is keyed, because readers of the copy's log could otherwise try out values of its conditions.
    """
    content = [_FORMAT, copy.model_dump(mode="json"), versions]
    encoded = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return hmac.new(hmac.digest(key, _ORIGINS, "sha256"), encoded, hashlib.sha256).hexdigest()


def _with_age(failed: TaskFailed, before: State | None) -> TaskFailed:
    if before is None:
        return failed
    return TaskFailed(
        f"{failed.message}; recipients still read the data of {_shown(before.refreshed_at)}",
        error_code=failed.error_code,
        retryable=failed.retryable,
        detail=failed.detail,
    )


def _result(name: str, copy: CopyConfig, outcome: _Outcome) -> TaskResult:
    further: dict[str, int | str] = {"refreshed_at": outcome.state.refreshed_at.isoformat()}
    if (required := recipient_filter(copy)) is not None:
        further["partition_filter"] = required
    since = _shown(outcome.state.refreshed_at)
    if outcome.written is None:
        return TaskResult(
            f"{name} is up to date: its sources have not changed since {since}", further=further
        )
    return TaskResult(
        f"{name} was refreshed: {outcome.written['rows']} rows", further={**outcome.written, **further}
    )


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
