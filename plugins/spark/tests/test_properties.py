"""Properties of tasks: typed, and unknown ones named with the nearest that is known."""

from __future__ import annotations

import pytest
from pydantic import Field

from sluicegate.api import TaskFailed
from sluicegate_spark.properties import Properties, parse


class Known(Properties):
    older_than: int = Field(default=7, ge=0)
    dry_run: bool = False


def test_texts_become_typed_values() -> None:
    told = parse(Known, {"older_than": "3", "dry_run": "true", "location": "s3://lake/orders"})
    assert told == Known(older_than=3, dry_run=True, location="s3://lake/orders")


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        (
            {"older-then": "3"},
            "'older-then' is not known to this operation; the nearest that is known is 'older_than'",
        ),
        ({"older_than": "soon"}, "'older_than': input should be a valid integer"),
        ({"older_than": "-1"}, "'older_than': input should be greater than or equal to 0"),
        ({"location": ""}, "'location': string should have at least 1 character"),
    ],
)
def test_what_is_wrong_is_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(TaskFailed) as failed:
        parse(Known, properties)
    assert said in failed.value.message
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)
