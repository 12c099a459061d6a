"""Times in tasks' properties."""

from __future__ import annotations

import pytest

from sluicegate.api import TaskFailed
from sluicegate_spark.maintenance.expiry import Expiry
from sluicegate_spark.properties import parse


@pytest.mark.parametrize(
    "age", ["999999999999w", "99999999d", "5 days", "yesterday", "0001-01-01T00:00:00+23:59"]
)
def test_what_is_no_time_is_the_payloads_fault(age: str) -> None:
    with pytest.raises(TaskFailed, match="'older_than'") as failed:
        parse(Expiry, {"older_than": age})
    assert failed.value.error_code == "INVALID_PAYLOAD"
