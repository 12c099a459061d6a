from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sluicegate.api import TaskFailed
from sluicegate_spark.maintenance.compaction import IcebergCompaction
from sluicegate_spark.maintenance.sql import Value, call, identifier, literal
from sluicegate_spark.maintenance.vacuum import Vacuum
from sluicegate_spark.orphans.operation import Orphans
from sluicegate_spark.properties import parse


def test_names_are_quoted_part_by_part() -> None:
    assert identifier("a.b", "c`d", "it's") == "`a.b`.`c``d`.`it's`"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", r"'it\'s'"),
        ("a\\' OR 1=1 --", r"'a\\\' OR 1=1 --'"),
        (True, "true"),
        (7, "7"),
        (datetime(2026, 11, 1, 2, tzinfo=timezone(timedelta(hours=2))), None),
        ({"a": "1", "b'": "2"}, r"map('a', '1', 'b\'', '2')"),
    ],
)
def test_values_are_literals(value: Value, text: str | None) -> None:
    assert literal(value) == (text or "TIMESTAMP '2026-11-01 00:00:00.000000+00:00'")


def test_a_call_has_what_is_given() -> None:
    given: dict[str, Value | None] = {"table": "t", "where": None, "options": {}, "retain_last": 2}
    assert call("c", "expire", given) == "CALL `c`.system.expire(table => 't', retain_last => 2)"


def test_options_are_as_iceberg_reads_them() -> None:
    told = parse(
        IcebergCompaction,
        {"rewrite-all": "true", "min-input-files": "2", "strategy": "sort", "where": "a = 1"},
    )
    assert told.options == {
        "min-input-files": "2",
        "rewrite-all": "true",
        "remove-dangling-deletes": "true",
    }


def test_young_orphans_need_force() -> None:
    assert parse(Orphans, {}).older_than <= datetime.now(UTC) - timedelta(days=3)
    assert parse(Orphans, {"older_than": "1h", "force": "true"}).force
    with pytest.raises(TaskFailed, match="to allow this, set the property 'force'") as failed:
        parse(Orphans, {"older_than": "23h"})
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)


def test_a_short_retention_needs_force() -> None:
    assert parse(Vacuum, {"retain_hours": "168"}).retain_hours == 168
    assert parse(Vacuum, {"retain_hours": "0", "force": "true"}).retain_hours == 0
    with pytest.raises(TaskFailed, match="retain_hours is less than 168"):
        parse(Vacuum, {"retain_hours": "167"})
