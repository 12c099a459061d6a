"""Properties of tasks: types, and messages about unknown names."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AfterValidator, Field, model_validator

from sluicegate.api import TaskFailed
from sluicegate_spark.properties import Properties, parse


def not_thirteen(value: int) -> int:
    if value == 13:
        raise ValueError("any number but this")
    return value


class Known(Properties):
    older_than: Annotated[int, AfterValidator(not_thirteen)] = Field(default=7, ge=0)
    dry_run: bool = False

    @model_validator(mode="after")
    def _refuse_zero(self) -> Known:
        if self.older_than == 0 and not self.dry_run:
            raise ValueError("older_than is 0, and dry_run is not set")
        return self


def test_texts_become_typed_values() -> None:
    told = parse(Known, {"older_than": "3", "dry_run": "true", "location": "s3://lake/orders"})
    assert told == Known(older_than=3, dry_run=True, location="s3://lake/orders")


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        (
            {"older-then": "3"},
            "'older-then' is not a property of this operation; the most similar one is 'older_than'",
        ),
        ({"older_than": "soon"}, "'older_than': input should be a valid integer"),
        ({"older_than": "-1"}, "'older_than': input should be greater than or equal to 0"),
        ({"older_than": "13"}, "'older_than': any number but this"),
        ({"older_than": "0"}, "properties: older_than is 0, and dry_run is not set"),
        ({"location": ""}, "'location': string should have at least 1 character"),
    ],
)
def test_what_is_wrong_is_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(TaskFailed) as failed:
        parse(Known, properties)
    assert said in failed.value.message
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)
