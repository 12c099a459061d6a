"""Delta tables that Spark writes, each with a history that is difficult to convert."""

from __future__ import annotations

from dataclasses import dataclass

_TYPES = (
    "id BIGINT, small BYTE, city STRING, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, "
    "amount DECIMAL(20, 3), tags ARRAY<STRING>, counts MAP<STRING, INT>, "
    "place STRUCT<town: STRING, zip: INT>, flag BOOLEAN, raw BINARY, rate DOUBLE, single FLOAT"
)
_TYPED = (
    "INSERT INTO {d} VALUES (1, 3, 'a b/c=d%e+f', DATE '1969-07-20', "
    "TIMESTAMP '2024-02-29 12:00:00.123456', TIMESTAMP_NTZ '1582-01-01 00:00:00', "
    "12345678901234567.891, array('a', NULL), map('k', 1), named_struct('town', 'Ulm', 'zip', 89073), "
    "true, X'00ff', 0.1, -0.5F), "
    f"(2, {', '.join(['NULL'] * 13)})"
)
_MORE = (
    "DELETE FROM {d} WHERE id = 2",
    "INSERT INTO {d} (id, city, amount) VALUES (3, 'x', -0.001), (4, 'a b/c=d%e+f', 0)",
    "ALTER TABLE {d} ADD COLUMN note STRING",
    "INSERT INTO {d} (id, city, note) VALUES (5, '__null__', 'n')",
    "UPDATE {d} SET note = 'later' WHERE id = 1",
)


@dataclass(frozen=True)
class TableHistory:
    """The history of a table."""

    name: str
    first: tuple[str, ...]
    then: tuple[str, ...]


def _typed(name: str, by: str = "") -> TableHistory:
    partitioned = f" PARTITIONED BY ({by})" if by else ""
    return TableHistory(
        name, (f"CREATE TABLE {{d}} ({_TYPES}) USING delta{partitioned}", _TYPED), _MORE
    )


HISTORIES = [
    _typed("plain"),
    _typed("by_text_and_day", "city, day"),
    _typed("by_numbers", "amount, small, flag, rate, single"),
    _typed("by_times", "at, local"),
    TableHistory(
        "mapped",
        (
            "CREATE TABLE {d} (id BIGINT, city STRING, gone INT, place STRUCT<town: STRING>) "
            "USING delta PARTITIONED BY (city) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO {d} VALUES (1, 'Ulm', 7, named_struct('town', 'a')), (2, NULL, NULL, NULL)",
            "ALTER TABLE {d} DROP COLUMN gone",
            "ALTER TABLE {d} RENAME COLUMN city TO old",
            "ALTER TABLE {d} ADD COLUMN city STRING",
        ),
        (
            "ALTER TABLE {d} ADD COLUMN gone STRING",
            "ALTER TABLE {d} RENAME COLUMN place.town TO village",
            "INSERT INTO {d} VALUES (3, 'Bonn', named_struct('village', 'b'), 'new', 'back')",
            "ALTER TABLE {d} RENAME COLUMN old TO former",
            "DELETE FROM {d} WHERE id = 1",
        ),
    ),
    TableHistory(
        "mapped_later",
        (
            "CREATE TABLE {d} (id BIGINT, part INT, name STRING) USING delta PARTITIONED BY (part)",
            "INSERT INTO {d} VALUES (1, 1, 'one'), (2, NULL, 'none')",
            "ALTER TABLE {d} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE {d} RENAME COLUMN name TO title",
            "INSERT INTO {d} VALUES (3, 3, 'three')",
        ),
        (
            "ALTER TABLE {d} ADD COLUMN note STRING",
            "INSERT INTO {d} VALUES (4, 1, 'four', 'new')",
        ),
    ),
    TableHistory(
        "dropped",
        (
            "CREATE TABLE {d} (id BIGINT, gone INT, kept ARRAY<INT>, place STRUCT<a: INT, b: INT>) "
            "USING delta",
            "INSERT INTO {d} VALUES (1, 1, array(1), named_struct('a', 1, 'b', 2))",
            "ALTER TABLE {d} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE {d} DROP COLUMNS (gone, place.a)",
        ),
        ("ALTER TABLE {d} ADD COLUMN later INT", "ALTER TABLE {d} DROP COLUMN place"),
    ),
]

# Data files call another column by the name of a new one.
AMBIGUOUS = TableHistory(
    "ambiguous",
    (
        "CREATE TABLE {d} (id BIGINT, name STRING) USING delta",
        "INSERT INTO {d} VALUES (1, 'one'), (2, NULL)",
        "ALTER TABLE {d} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ),
    ("ALTER TABLE {d} DROP COLUMN name", "ALTER TABLE {d} ADD COLUMN name STRING"),
)
