import pytest

from sluicegate.delegation.queue.records import (
    ENDED,
    LEASED,
    STATUSES,
    UNFINISHED,
    Status,
    asynchronous_name,
    may_follow,
)

ALLOWED = {
    ("SUBMITTED", "ACQUIRING_RESOURCES"),
    ("SUBMITTED", "FAILURE"),
    ("ACQUIRING_RESOURCES", "ACQUIRING_RESOURCES"),
    ("ACQUIRING_RESOURCES", "RUNNING"),
    ("ACQUIRING_RESOURCES", "RETRY_SCHEDULED"),
    ("ACQUIRING_RESOURCES", "FAILURE"),
    ("RUNNING", "ACQUIRING_RESOURCES"),
    ("RUNNING", "RETRY_SCHEDULED"),
    ("RUNNING", "SUCCESS"),
    ("RUNNING", "FAILURE"),
    ("RETRY_SCHEDULED", "ACQUIRING_RESOURCES"),
    ("RETRY_SCHEDULED", "FAILURE"),
    ("FAILURE", "SUBMITTED"),
}


@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("after", STATUSES)
def test_only_the_documented_transitions_are_allowed(before: Status, after: Status) -> None:
    assert may_follow(before, after) is ((before, after) in ALLOWED)


def test_every_state_is_either_ended_or_unfinished() -> None:
    assert set(STATUSES) == ENDED | UNFINISHED
    assert not ENDED & UNFINISHED
    assert LEASED < UNFINISHED


def test_success_is_only_reached_by_a_running_task() -> None:
    assert [each for each in STATUSES if may_follow(each, "SUCCESS")] == ["RUNNING"]


@pytest.mark.parametrize(
    ("status", "name"),
    [
        ("SUBMITTED", "QUEUED"),
        ("RUNNING", "PROCESSING"),
        ("ACQUIRING_RESOURCES", "ACQUIRING_RESOURCES"),
        ("RETRY_SCHEDULED", "RETRY_SCHEDULED"),
        ("SUCCESS", "SUCCESS"),
        ("FAILURE", "FAILURE"),
    ],
)
def test_the_asynchronous_api_has_names_for_two_states(status: Status, name: str) -> None:
    assert asynchronous_name(status) == name
