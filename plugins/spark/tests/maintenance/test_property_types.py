"""Times in the properties of tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

from sluicegate.api import TaskFailed
from sluicegate_spark.maintenance.expiry import Expiry
from sluicegate_spark.maintenance.property_types import Moment
from sluicegate_spark.properties import parse

MOMENT = TypeAdapter[datetime](Moment)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-01T00:00:00Z", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T02:00:00+02:00", datetime(2026, 11, 1, tzinfo=UTC)),
        (" 2026-11-01 ", datetime(2026, 11, 1, tzinfo=UTC)),
    ],
)
def test_a_time_has_a_zone(text: str, moment: datetime) -> None:
    assert MOMENT.validate_python(text) == moment


def test_a_duration_is_so_long_ago() -> None:
    before = datetime.now(UTC)
    found = MOMENT.validate_python("1d12h")
    assert before <= found + timedelta(hours=36) <= datetime.now(UTC)


@pytest.mark.parametrize("text", ["yesterday", "", "1764547200000", "5 days", "d"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="expected a"):
        MOMENT.validate_python(text)


@pytest.mark.parametrize(
    "age", ["999999999999w", "99999999d", "5 days", "yesterday", "0001-01-01T00:00:00+23:59"]
)
def test_what_is_no_time_is_the_payloads_fault(age: str) -> None:
    with pytest.raises(TaskFailed, match="'older_than'") as failed:
        parse(Expiry, {"older_than": age})
    assert failed.value.error_code == "INVALID_PAYLOAD"
