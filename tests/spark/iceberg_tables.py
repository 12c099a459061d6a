"""Iceberg tables that Spark writes, each with a history that is difficult for some readers."""

from __future__ import annotations

from dataclasses import dataclass

MERGE_ON_READ = ", ".join(
    f"'write.{change}.mode' = 'merge-on-read'" for change in ("delete", "update", "merge")
)
_ORDERS = "CREATE TABLE {t} (id BIGINT, city STRING, price DOUBLE) USING iceberg"
_FIRST = (
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('c', id % 3), id / 4 FROM range(10)",
    "INSERT INTO {t} VALUES (10, 'Köln', NULL), (11, NULL, 0.5)",
)
_CHANGES = (
    "DELETE FROM {t} WHERE id IN (2, 11)",
    "UPDATE {t} SET price = -1 WHERE city = 'c1'",
    "MERGE INTO {t} USING (SELECT explode(array(3, 4, 50)) AS id) s ON {t}.id = s.id "
    "WHEN MATCHED AND s.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET city = 'merged' "
    "WHEN NOT MATCHED THEN INSERT (id, city, price) VALUES (s.id, 'new', 9)",
)
_EVOLUTION = (
    "ALTER TABLE {t} RENAME COLUMN price TO cost",
    "ALTER TABLE {t} ADD COLUMN price STRING AFTER id",
    "ALTER TABLE {t} DROP COLUMN city",
    "INSERT INTO {t} (id, price, cost) VALUES (60, 'dear', 1.5)",
)


@dataclass(frozen=True)
class Written:
    """The history of a table.

    Attributes:
        parquet: The feature because of which parquet format is rejected; empty if it has the rows.
    """

    name: str
    statements: tuple[str, ...]
    parquet: str = ""


def _created(version: int, *more: str) -> str:
    properties = ", ".join((f"'format-version' = '{version}'", *more))
    return f"{_ORDERS} TBLPROPERTIES ({properties})"


_TYPES = (
    "id BIGINT, flag BOOLEAN, small INT, single FLOAT, amount DECIMAL(20, 3), day DATE, "
    "moment TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, tags ARRAY<STRING>, "
    "counts MAP<STRING, INT>, place STRUCT<city: STRING, zip: INT>"
)
_TYPED = (
    "true, 7, 0.5F, 12345678901234567.891, DATE '1969-07-20', TIMESTAMP '2024-02-29 12:00:00.123456', "
    "TIMESTAMP_NTZ '1582-01-01 00:00:00', X'00ff', array('a', NULL), map('k', 1), "
    "named_struct('city', 'Ulm', 'zip', 89073)"
)
_PLACED = "CREATE TABLE {t} (id INT, place STRUCT<city: STRING, zip: INT>, rate FLOAT) USING iceberg"

IN_ANY_CATALOG = [
    Written("copy_on_write", (_created(2), *_FIRST, *_CHANGES)),
    Written("merge_on_read", (_created(2, MERGE_ON_READ), *_FIRST, *_CHANGES), "deletionVectors"),
    Written("evolved", (_created(2), *_FIRST, *_EVOLUTION), "columnMapping"),
    Written(
        "evolved_and_deleted",
        (_created(2, MERGE_ON_READ), *_FIRST, *_EVOLUTION, "DELETE FROM {t} WHERE cost > 1"),
        "columnMapping",
    ),
    Written(
        "compacted",
        (
            _created(2, MERGE_ON_READ),
            *_FIRST,
            *_CHANGES,
            "CALL {c}.system.rewrite_data_files(table => '{n}', options => map('rewrite-all', 'true'))",
        ),
    ),
    Written(
        "by_time",
        (
            "CREATE TABLE {t} (id INT, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at))",
            "INSERT INTO {t} VALUES (1, TIMESTAMP '2024-01-01 23:59:59'), (2, NULL), "
            "(3, TIMESTAMP '1969-12-31 23:00:00')",
        ),
    ),
    Written(
        "by_text",
        (
            f"{_ORDERS} PARTITIONED BY (city) TBLPROPERTIES ({MERGE_ON_READ})",
            *_FIRST,
            "INSERT INTO {t} VALUES (20, 'a b/c=d%e+f', 1), (21, '__null__', 3)",
            "DELETE FROM {t} WHERE id IN (1, 20)",
        ),
        "deletionVectors",
    ),
    Written(
        "widened",
        (
            _PLACED,
            "INSERT INTO {t} VALUES (1, named_struct('city', 'Ulm', 'zip', 1), 0.5)",
            "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN rate TYPE DOUBLE",
            "INSERT INTO {t} VALUES (5000000000, NULL, 0.1)",
        ),
    ),
    Written(
        "nested",
        (
            _PLACED,
            "INSERT INTO {t} VALUES (1, named_struct('city', 'Ulm', 'zip', 1), 0.5)",
            "ALTER TABLE {t} RENAME COLUMN place.city TO town",
            "ALTER TABLE {t} ADD COLUMN place.country STRING",
            "INSERT INTO {t} VALUES (2, named_struct('town', 'Bonn', 'zip', 2, 'country', 'DE'), 1)",
        ),
        "columnMapping",
    ),
    Written(
        "typed",
        (
            f"CREATE TABLE {{t}} ({_TYPES}) USING iceberg",
            f"INSERT INTO {{t}} VALUES (1, {_TYPED})",
            f"INSERT INTO {{t}} VALUES (2, {', '.join(['NULL'] * 11)})",
        ),
    ),
    Written("replaced", (_created(2), *_FIRST, "INSERT OVERWRITE {t} VALUES (1, 'only', 1)")),
    Written("empty", (_created(2),)),
]
_MOMENTS = (
    "CREATE TABLE {t} (id BIGINT, y DATE, m TIMESTAMP, d TIMESTAMP_NTZ, h TIMESTAMP) USING iceberg"
)
_MOMENT = (
    "DATE '{0}', TIMESTAMP '{0} 23:59:59.999999', TIMESTAMP_NTZ '{0} 00:00:00', "
    "TIMESTAMP '{0} 12:30:00'"
)
_BY_TIME = (
    *(
        f"INSERT INTO {{t}} VALUES ({number}, {_MOMENT.format(day)})"
        for number, day in enumerate(("2024-02-29", "1969-12-31", "1581-10-04"))
    ),
    "INSERT INTO {t} VALUES (8, NULL, NULL, NULL, NULL), (9, DATE '2024-03-01', NULL, NULL, NULL)",
    "DELETE FROM {t} WHERE h < TIMESTAMP '1970-01-01 00:00:00' OR id = 8",
    "UPDATE {t} SET m = h WHERE y = DATE '2024-02-29'",
)
_BY_VALUE = (
    "CREATE TABLE {t} (id BIGINT, city STRING, price DECIMAL(9, 2), raw BINARY, at TIMESTAMP) "
    "USING iceberg PARTITIONED BY ({by}) TBLPROPERTIES ({with})"
)
_VALUES = (
    "INSERT INTO {t} SELECT id - 5, concat('çé', id % 4, '/x=', id), (id - 4) * 1.37, "
    "unhex(lpad(hex(id), 4, '0')), TIMESTAMP '2024-01-01 00:00:00' FROM range(12)",
    "INSERT INTO {t} VALUES (NULL, NULL, NULL, NULL, NULL), (99, '', 0, X'', NULL)",
    "DELETE FROM {t} WHERE id IN (-5, 0, 99)",
    "MERGE INTO {t} USING (SELECT explode(array(1, 2, 50)) AS id) s ON {t}.id = s.id "
    "WHEN MATCHED THEN UPDATE SET city = 'moved', price = -99 "
    "WHEN NOT MATCHED THEN INSERT (id, city) VALUES (s.id, 'new')",
)


def _by_value(name: str, by: str, version: int) -> Written:
    created = _BY_VALUE.replace("{by}", by).replace(
        "{with}", f"'format-version' = '{version}', {MERGE_ON_READ}"
    )
    return Written(name, (created, *_VALUES), "deletionVectors")


# SeaweedFS takes no Puffin files into a catalog's bucket, and no partitions by buckets.
IN_A_FULL_CATALOG = [
    *(
        _by_value(f"by_buckets_{version}", "bucket(3, id), bucket(2, city), bucket(2, raw)", version)
        for version in (2, 3)
    ),
    _by_value("by_buckets_of_others", "bucket(2, price), bucket(2, at)", 3),
    _by_value("truncated", "truncate(3, id), truncate(3, city), truncate(500, price)", 2),
    _by_value("by_raw", "truncate(1, raw)", 3),
    Written(
        "by_every_time",
        (
            f"{_MOMENTS} PARTITIONED BY (years(y), months(m), days(d), hours(h)) "
            f"TBLPROPERTIES ({MERGE_ON_READ})",
            *_BY_TIME,
        ),
        "deletionVectors",
    ),
    Written("vectors", (_created(3, MERGE_ON_READ), *_FIRST, *_CHANGES), "deletionVectors"),
    Written(
        "evolved_vectors",
        (
            _created(3, MERGE_ON_READ),
            _FIRST[0],
            _CHANGES[0],
            *_EVOLUTION,
            "DELETE FROM {t} WHERE id < 5",
        ),
        "columnMapping",
    ),
    Written(
        "upgraded",
        (
            _created(1),
            *_FIRST,
            f"ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version' = '2', {MERGE_ON_READ})",
            *_CHANGES,
            "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
            "DELETE FROM {t} WHERE id = 50 OR id = 5",
        ),
        "deletionVectors",
    ),
]
