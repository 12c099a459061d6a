"""REFRESH_MATERIALIZATION: writes a copy that contains only what recipients can see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
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
from sluicegate_spark.materialization.copy_state import State
from sluicegate_spark.materialization.copy_table import CopyTable
from sluicegate_spark.materialization.refresh_plan import CopyRefresh, Outcome
from sluicegate_spark.materialization.sources import Source, delta_settings, open_sources
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from sluicegate_spark.engine import TaskSession

log = logging.getLogger(__name__)

_CHANGES: Final = "changes"
_STAGE: Final = "refresh"


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


async def refresh_materialization(work: Work) -> TaskResult:
    """Refresh the copy of a task."""
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
            latest = await session.run(table.latest)
            return None if latest is None else latest.state
    except TaskFailed:
        return None


def configured_copy(
    materialized: MaterializedConfig | None, task: DelegatedTask
) -> tuple[MaterializedConfig, str]:
    """Return the section of the copies, and the name of the task's copy."""
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
) -> Outcome:
    materialized, name = configured_copy(work.materialized, work.task)
    copy, key = materialized.tables[name], materialized.key.get_secret_value().encode()
    for source in sources.values():
        await source.prepare(session)
    refresh = CopyRefresh(copy, key, sources, table)
    try:
        await work.run.check_lease()
        plan = await watched(work, session, _CHANGES, partial(refresh.plan, force=force))
        is_new = await session.run(partial(table.is_new, latest=plan.latest))
        await work.run.check_lease()
        try:
            return await watched(work, session, _STAGE, partial(refresh.write, plan=plan))
        except TaskFailed:
            await _clean_up(work, session, table, is_new=is_new)
            raise
    finally:
        with anyio.CancelScope(shield=True):
            await session.run(refresh.release)


async def _clean_up(work: Work, session: TaskSession, table: CopyTable, *, is_new: bool) -> None:
    """Delete what a failed refresh wrote, so that it doesn't fill the disk with each attempt."""
    try:
        await work.run.check_lease()
        await session.run(partial(table.clean_up, is_new=is_new))
    except TaskFailed as failed:
        log.warning("files of a failed refresh could not be deleted: %s", failed.detail)


def _with_age(failed: TaskFailed, before: State | None) -> TaskFailed:
    if before is None:
        return failed
    return TaskFailed(
        f"{failed.message}; recipients still read the data of {_shown(before.refreshed_at)}",
        error_code=failed.error_code,
        retryable=failed.retryable,
        detail=failed.detail,
    )


def _result(name: str, copy: CopyConfig, outcome: Outcome) -> TaskResult:
    further: dict[str, int | str] = {"refreshed_at": outcome.state.refreshed_at.isoformat()}
    if (required := recipient_filter(copy)) is not None:
        further["partition_filter"] = required
    since = _shown(outcome.state.refreshed_at)
    if outcome.numbers is None:
        return TaskResult(
            f"{name} is up to date: its sources have not changed since {since}",
            further={**further, "refresh": "none"},
        )
    how, how_in_words = _how(outcome)
    summary = f"{name} was refreshed: {outcome.numbers['rows']} rows; {how_in_words}"
    if copy.recipient_columns:
        further["rows_left_out"] = outcome.left_out
    if outcome.left_out:
        summary += f"; {outcome.left_out} rows were left out, because no recipient can have them"
    return TaskResult(summary, further={**outcome.numbers, **further, **how})


def _how(outcome: Outcome) -> tuple[dict[str, int | str], str]:
    """Return how a copy was refreshed, for programs and for people."""
    changes = outcome.changes
    if changes is None:
        return {"refresh": "rebuilt", "reason": outcome.reason}, f"rebuilt, because {outcome.reason}"
    numbers = {"rows_added": changes.added, "rows_removed": changes.removed}
    return (
        {"refresh": "incremental", **numbers},
        f"incremental, {changes.added} rows added and {changes.removed} removed",
    )


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
