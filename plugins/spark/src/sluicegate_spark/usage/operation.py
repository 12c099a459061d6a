"""COLLECT_USAGE: adds new offers and new lines of access logs to the tables of usage."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import (
    DelegatedTask,
    RealmGrant,
    SecretStr,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
    TemporaryCredentials,
)
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.rest.responses import StorageCredential
from sluicegate_spark.config import UsageConfig
from sluicegate_spark.engine import Engine, TaskSession
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.maintenance.session import DELTA
from sluicegate_spark.maintenance.sql import SETTINGS
from sluicegate_spark.maintenance.storage_settings import closed_for_hadoop, for_hadoop
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import vending_failed
from sluicegate_spark.usage.attribution import LONGEST_OFFER, UNMATCHED, attributed, unmatched_reads
from sluicegate_spark.usage.log_reader import LogReader
from sluicegate_spark.usage.log_stream import LineCounts, LogStream
from sluicegate_spark.usage.offers import copy_offers
from sluicegate_spark.usage.tables import DAILY, READS, UsageTables, dates, names_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Offers are also the reason for reads of later days, up to their expiry.
_STALE: Final = """
WITH
  read AS (SELECT day, count(*) AS requests FROM {reads} GROUP BY day),
  offered AS (SELECT day, count(*) AS responses, sum(coalesce(files, 0L)) AS files
              FROM {offers} GROUP BY day),
  summed AS (SELECT day, sum(requests) AS requests, sum(responses) AS responses,
                    sum(offered_files) AS files FROM {daily} GROUP BY day),
  changed_offers AS (SELECT offered.day FROM offered LEFT JOIN summed USING (day)
                     WHERE NOT (offered.responses <=> summed.responses
                                AND offered.files <=> summed.files))
SELECT read.day FROM read LEFT JOIN summed USING (day) WHERE NOT read.requests <=> summed.requests
UNION SELECT day FROM changed_offers
UNION SELECT read.day FROM read JOIN changed_offers
      ON read.day BETWEEN changed_offers.day AND changed_offers.day + INTERVAL {longest} DAYS
"""

_SUMS: Final = """
SELECT day, recipient, share, schema, table, sum(responses) AS responses,
       sum(offered_files) AS offered_files, sum(requests) AS requests,
       sum(failed) AS failed_requests, sum(late) AS late_requests,
       count(DISTINCT file) AS read_files, try_sum(bytes) AS read_bytes
FROM (
  SELECT day, recipient, share, schema, table, 1L AS responses, coalesce(files, 0L) AS offered_files,
         0L AS requests, 0L AS failed, 0L AS late, NULL AS file, 0L AS bytes
  FROM {offers} WHERE day IN ({days})
  UNION ALL
  SELECT day, recipient, share, schema, table, 0L, 0L, 1L, IF(status IN (200, 206), 0L, 1L),
         IF(is_late, 1L, 0L), IF(status IN (200, 206), concat(bucket, '/', key), NULL),
         IF(status IN (200, 206), bytes, 0L)
  FROM {reads} WHERE day IN ({days})
)
GROUP BY day, recipient, share, schema, table
"""


def stale_days(spark: SparkSession, tables: UsageTables) -> list[date]:
    """Return the days whose sums are not those of the offers and reads."""
    statement = _STALE.format(**_names(tables), longest=LONGEST_OFFER)
    return sorted(row["day"] for row in spark.sql(statement).collect())


def sum_days(spark: SparkSession, tables: UsageTables, days: Collection[date]) -> dict[str, int]:
    """Find the offers behind the reads of some days, and write their sums.

    The sums are written last, in one commit: until then, all these days remain stale.

    Returns:
        The number of reads without a recipient, for each reason.
    """
    _replace(tables.path("reads"), days, attributed(spark, tables, days).select(*names_of(READS)))
    sums = spark.sql(_SUMS.format(**_names(tables), days=dates(days)))
    unmatched = unmatched_reads(spark, tables, days)
    _replace(tables.path("daily"), days, sums.select(*names_of(DAILY)))
    return unmatched


def _replace(path: str, days: Collection[date], rows: DataFrame) -> None:
    writer = rows.write.format("delta").mode("overwrite")
    writer.option("replaceWhere", f"day IN ({dates(days)})").save(path)


def _names(tables: UsageTables) -> dict[str, str]:
    return {name: tables.name(name) for name in ("offers", "reads", "daily")}


_Result = TypeVar("_Result")
# Sources of merges are stored already, and merges that only insert read them once.
_MERGES: Final = {"spark.databricks.delta.merge.materializeSource": "none"}


async def collect(
    config: UsageConfig | None, engine: Engine, task: DelegatedTask, run: TaskRun
) -> TaskResult:
    """Collect usage into the configured tables. Nothing in the task decides which these are."""
    if config is None:
        raise _unfit("the executor collects no usage: its configuration has no section 'usage'")
    if task.properties:
        raise _unfit(f"{task.operation} has no properties: its configuration is the section 'usage'")
    credentials = [_credentials(config, each) for each in (config.location, *config.access_logs)]
    opened: dict[str, str | SecretStr] = {}
    for each in credentials:
        opened |= for_hadoop(each)
    settings: Mapping[str, str | SecretStr] = {
        **SETTINGS,
        **DELTA,
        **_MERGES,
        **closed_for_hadoop(),
        **opened,
    }
    async with engine.session(task.id, settings) as session:
        return await _Collection(config, credentials[0], task, run, session).run()


def _unfit(why: str) -> TaskFailed:
    return TaskFailed(why, error_code="INVALID_PAYLOAD")


def _credentials(config: UsageConfig, directory: str) -> TemporaryCredentials:
    values = {name: value.get_secret_value() for name, value in config.file_io.items()}
    found = chosen([StorageCredential(prefix="", config=values)], [directory], values)
    if found is None:
        raise vending_failed(
            f"no credentials for '{directory}': 'usage.file_io' of the executor contains none"
        )
    return found


class _Collection:
    """One attempt."""

    def __init__(
        self,
        config: UsageConfig,
        credentials: TemporaryCredentials,
        task: DelegatedTask,
        run: TaskRun,
        session: TaskSession,
    ) -> None:
        self._config = config
        self._run = run
        self._session = session
        self._tables = UsageTables(config.location)
        granted = RealmGrant(locations=tuple(f"{each}/" for each in config.access_logs))
        access = ObjectAccess(credentials, GrantedLocations(task.realm, granted, of_catalog=True))
        self._reader = LogReader(access)
        self._counts = LineCounts()

    async def run(self) -> TaskResult:
        """Collect, and return the result."""
        await self._stage("tables", self._tables.create)
        self._run.report(TaskProgress("ledger"))
        offers = await copy_offers(self._session, self._tables, self._run)
        for directory in self._config.access_logs:
            await self._read_logs(directory)
        days = await self._stage("days", lambda spark: stale_days(spark, self._tables))
        unmatched = dict.fromkeys(UNMATCHED, 0)
        if days:
            unmatched = await self._stage("sums", lambda spark: sum_days(spark, self._tables, days))
        counts = self._counts
        return TaskResult(
            f"{counts.reads:,} reads in {counts.files:,} log files were collected, and the sums of "
            f"{len(days):,} days were written",
            further={
                "ledger_entries": offers,
                "log_files": counts.files,
                "reads": counts.reads,
                "late_reads": counts.late,
                "rejected_lines": counts.rejected,
                "other_requests": counts.other,
                "days": len(days),
                **unmatched,
            },
        )

    async def _read_logs(self, directory: str) -> None:
        stream = LogStream(self._tables, directory, self._reader, self._counts)
        failures: list[Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_stop_when_canceled, stream)
            try:
                await self._stage(f"logs of {directory}", stream.run)
            except Exception as error:  # a task group would wrap it in an exception group
                failures.append(error)
            group.cancel_scope.cancel()
        for failure in failures:
            raise failure

    async def _stage(self, name: str, work: Callable[[SparkSession], _Result]) -> _Result:
        self._run.report(TaskProgress(name))
        return await self._session.run(work)


async def _stop_when_canceled(stream: LogStream) -> None:
    """Stop a stream, whose jobs are not those of the session that started it."""
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(stream.stop)
