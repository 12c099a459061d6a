"""Finds the offer behind each read: who got the credentials or the URL with which it was requested.

- A session is named after its recipient, so its name and the directory of a table identify the offer.
- A presigned URL contains when it was signed and when it expires. The offer was issued in the second of
  the signature or before it, and expires with the URL or after it. If the URL has a label, the offer is
  the one that it names.

If several recipients got URLs without labels for one table in the same second, the address that
requests the file decides. If they also have the same address, the read is `ambiguous`, and counts for
no recipient.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Final

from sluicegate_spark.usage.tables import UsageTables, dates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Days; presigned URLs last for at most as many, and sessions are shorter.
LONGEST_OFFER: Final = 7

# An offer of one directory in each hour in which it was valid, as a key for the join.
_OFFERED: Final = """
SELECT event_id AS offer_id, recipient_id, recipient, share, schema, table, kind, sessions, address,
       issued_at, ends_at, directory, hour
FROM (
  SELECT *, least(coalesce(expires_at, issued_at + INTERVAL {longest} DAYS),
                  issued_at + INTERVAL {longest} DAYS) AS ends_at
  FROM {offers} WHERE day BETWEEN DATE '{first}' - INTERVAL {longest} DAYS AND DATE '{last}'
)
LATERAL VIEW explode(locations) AS directory
LATERAL VIEW explode(sequence(date_trunc('HOUR', issued_at - INTERVAL 1 MINUTE),
                              date_trunc('HOUR', greatest(ends_at, issued_at)),
                              INTERVAL 1 HOUR)) AS hour
"""

# The reads that no offer distinguishes, once for each directory that contains their files. All files
# of one response are one row, which keeps the join small.
_DISTINCT: Final = """
SELECT DISTINCT directory, session, signed_at, url_expires_at, label, address, moment,
       date_trunc('HOUR', moment) AS hour
FROM read_directories WHERE directory IN (SELECT directory FROM offered)
"""

# The directories that contain each read's file. A URL has the second of its signature as `moment`.
_DIRECTORIES: Final = """
SELECT event_id, session, signed_at, url_expires_at, label, address, directory,
       coalesce(signed_at, date_trunc('SECOND', at)) AS moment
FROM (SELECT *, split(key, '/') AS parts FROM {reads} WHERE day IN ({days}))
LATERAL VIEW explode(transform(
  sequence(0, size(parts) - 1),
  i -> concat_ws('/', concat('s3://', bucket), slice(parts, 1, i))
)) AS directory
"""

_CANDIDATES: Final = """
SELECT r.directory, r.session, r.signed_at, r.url_expires_at, r.label, r.address, r.moment,
       o.offer_id, o.recipient_id, o.recipient, o.share, o.schema, o.table, o.issued_at,
       CASE WHEN o.kind <> 'urls' THEN 'session' WHEN r.label IS NULL THEN 'url'
            ELSE 'label' END AS matched_by,
       length(r.directory) AS depth,
       date_trunc('SECOND', o.issued_at) = r.moment AS is_exact,
       o.address <=> r.address AS has_address
FROM distinct_reads r JOIN offered o ON o.directory = r.directory AND o.hour = r.hour
WHERE CASE WHEN o.kind = 'urls'
      THEN r.signed_at IS NOT NULL AND date_trunc('SECOND', o.issued_at) <= r.signed_at
           AND r.url_expires_at <= o.ends_at AND coalesce(r.label = o.offer_id, true)
      ELSE array_contains(o.sessions, r.session)
           AND r.moment BETWEEN o.issued_at - INTERVAL 1 MINUTE AND o.ends_at END
"""

# The best candidates of each read. One recipient can have several: the last of them is taken.
_CHOSEN: Final = """
SELECT event_id, count(DISTINCT recipient_id) AS recipients,
       max_by(struct(recipient, share, schema, table, offer_id, matched_by),
              struct(issued_at, offer_id)) AS offer
FROM (
  SELECT d.event_id, c.*, rank() OVER (PARTITION BY d.event_id ORDER BY c.matched_by = 'session' DESC,
         c.has_address DESC, c.is_exact DESC, c.depth DESC,
         IF(c.matched_by <> 'session', date_trunc('SECOND', c.issued_at), NULL) DESC) AS place
  FROM read_directories d JOIN candidates c
    ON d.directory = c.directory AND d.session <=> c.session AND d.signed_at <=> c.signed_at
   AND d.url_expires_at <=> c.url_expires_at AND d.label <=> c.label
   AND d.address <=> c.address AND d.moment = c.moment
)
WHERE place = 1 GROUP BY event_id
"""

_ATTRIBUTED: Final = """
SELECT r.* EXCEPT (recipient, share, schema, table, offer_id, matched_by),
       IF(recipients = 1, offer.recipient, NULL) AS recipient,
       IF(recipients = 1, offer.share, NULL) AS share,
       IF(recipients = 1, offer.schema, NULL) AS schema,
       IF(recipients = 1, offer.table, NULL) AS table,
       IF(recipients = 1, offer.offer_id, NULL) AS offer_id,
       CASE WHEN recipients = 1 THEN offer.matched_by WHEN recipients > 1 THEN 'ambiguous'
            ELSE 'none' END AS matched_by
FROM (SELECT * FROM {reads} WHERE day IN ({days})) r LEFT JOIN chosen USING (event_id)
"""


# Why reads have no recipient. The views are those of `attributed`.
_UNMATCHED: Final = """
SELECT reason, count(*) AS reads FROM (
  SELECT CASE WHEN matched_by = 'ambiguous' THEN 'ambiguous_reads'
              WHEN session IS NULL AND signed_at IS NULL THEN 'unmatched_other_requester'
              WHEN k.event_id IS NULL THEN 'unmatched_directory'
              ELSE 'unmatched_time_or_recipient' END AS reason
  FROM (SELECT * FROM {reads} WHERE day IN ({days}) AND matched_by IN ('ambiguous', 'none')) r
  LEFT JOIN (SELECT DISTINCT event_id FROM read_directories
             WHERE directory IN (SELECT directory FROM offered)) k USING (event_id)
)
GROUP BY reason
"""
UNMATCHED: Final = (
    "ambiguous_reads",
    "unmatched_other_requester",
    "unmatched_directory",
    "unmatched_time_or_recipient",
)
"""Reasons why reads have no recipient."""


def unmatched_reads(spark: SparkSession, tables: UsageTables, days: Collection[date]) -> dict[str, int]:
    """Return the number of reads without a recipient for each reason, after `attributed`."""
    statement = _UNMATCHED.format(reads=tables.name("reads"), days=dates(days))
    counts = {row["reason"]: int(row["reads"]) for row in spark.sql(statement).collect()}
    return {reason: counts.get(reason, 0) for reason in UNMATCHED}


def attributed(spark: SparkSession, tables: UsageTables, days: Collection[date]) -> DataFrame:
    """Return the reads of some days, with the offers behind them."""
    known = {
        "reads": tables.name("reads"),
        "offers": tables.name("offers"),
        "days": dates(days),
        "first": min(days).isoformat(),
        "last": max(days).isoformat(),
        "longest": LONGEST_OFFER,
    }
    for view, statement in (
        ("offered", _OFFERED),
        ("read_directories", _DIRECTORIES),
        ("distinct_reads", _DISTINCT),
        ("candidates", _CANDIDATES),
        ("chosen", _CHOSEN),
    ):
        spark.sql(statement.format(**known)).createOrReplaceTempView(view)
    return spark.sql(_ATTRIBUTED.format(**known))
