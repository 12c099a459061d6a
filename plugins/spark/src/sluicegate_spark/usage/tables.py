"""The Delta tables of usage: their columns, and statements that add rows to them exactly once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.maintenance.storage_settings import hadoop_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OFFERS: Final = (
    "event_id string, day date, at timestamp, issued_at timestamp, expires_at timestamp, kind string, "
    "recipient_id string, recipient string, share string, schema string, table string, asset string, "
    "locations array<string>, sessions array<string>, files bigint, address string, request_id string"
)
READS: Final = (
    "event_id string, day date, at timestamp, bucket string, key string, status int, bytes bigint, "
    "address string, session string, request_id string, signed_at timestamp, url_expires_at timestamp, "
    "label string, is_late boolean, file string, line bigint, "
    "recipient string, share string, schema string, table string, offer_id string, matched_by string"
)
REJECTED: Final = (
    "event_id string, day date, at timestamp, file string, line bigint, lines bigint, reason string, "
    "content string"
)
DAILY: Final = (
    "day date, recipient string, share string, schema string, table string, responses bigint, "
    "offered_files bigint, requests bigint, failed_requests bigint, late_requests bigint, "
    "read_files bigint, read_bytes bigint"
)
# The days limit the merge to their partitions.
_MERGE: Final = """
MERGE INTO {table} AS known USING new_usage AS new
ON known.day IN ({days}) AND known.day = new.day AND known.event_id = new.event_id
{when_matched} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})
"""
_TABLES: Final = {
    "offers": (OFFERS, "day"),
    "reads": (READS, "day"),
    "rejected": (REJECTED, "day"),
    # By recipient, so that a share can limit each recipient to its own rows.
    "daily": (DAILY, "recipient"),
}


@dataclass(frozen=True, slots=True)
class UsageTables:
    """The tables below one directory."""

    location: str

    def path(self, name: str) -> str:
        """Return the location of a table, or of what belongs to one."""
        return hadoop_location(f"{self.location}/{name}")

    def name(self, table: str) -> str:
        """Return the name of a table in SQL."""
        return f"delta.{identifier(self.path(table))}"

    def create(self, spark: SparkSession) -> None:
        """Create the tables that don't exist."""
        for table, (columns, partition) in _TABLES.items():
            spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self.name(table)} ({columns}) USING delta "
                f"PARTITIONED BY ({partition})"
            )

    def insert_new(self, rows: DataFrame, table: str, days: Collection[date]) -> None:
        """Insert the rows whose event is not in a table. Repeated, it changes nothing."""
        self._merge(rows.dropDuplicates(["event_id"]), table, days, "")

    def insert_or_grow(self, rows: DataFrame, days: Collection[date]) -> None:
        """Insert offers, and update those to which URLs were added since."""
        grown = "WHEN MATCHED AND new.files > known.files THEN UPDATE SET files = new.files, "
        self._merge(rows, "offers", days, f"{grown}expires_at = new.expires_at ")

    def _merge(self, rows: DataFrame, table: str, days: Collection[date], when_matched: str) -> None:
        rows.createOrReplaceTempView("new_usage")
        names = ", ".join(map(identifier, rows.columns))
        values = ", ".join(f"new.{identifier(name)}" for name in rows.columns)
        statement = _MERGE.format(
            table=self.name(table),
            days=dates(days),
            when_matched=when_matched,
            names=names,
            values=values,
        )
        rows.sparkSession.sql(statement)


def names_of(columns: str) -> list[str]:
    """Return the names of declared columns."""
    return [column.split()[0] for column in columns.split(", ")]


def dates(days: Collection[date]) -> str:
    """Return days as SQL literals, separated by commas."""
    return ", ".join(f"DATE '{day.isoformat()}'" for day in sorted(days))
