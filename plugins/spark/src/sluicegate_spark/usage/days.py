"""Sums offers and reads by day, for each day whose offers or reads changed.

Days are found by comparing the sums with what they are made from. So a day whose sums were not written,
because the task was killed or its checkpoint was lost, is found by the next task.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Final

from sluicegate_spark.usage.attribution import LONGEST_OFFER, attributed, unmatched_reads
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
