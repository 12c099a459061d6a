from typing import Any

import pytest
from sqlalchemy import select
from support.tasks.records import task_record
from support.tasks.scripted_store import ScriptedStore, row_of

from sluicegate.delegation.queue.records import Status, TaskRecord


def test_the_description_names_the_operation_and_the_table() -> None:
    assert str(task_record()) == "task t1 (TABLE_PURGE of lake.sales.emea.orders)"


def test_the_representation_shows_no_encrypted_part() -> None:
    shown = repr(task_record(sealed=b"ciphertext", digest=b"fingerprint"))
    assert "ciphertext" not in shown
    assert "fingerprint" not in shown


@pytest.mark.parametrize(
    ("status", "ended", "leased"),
    [
        ("SUBMITTED", False, False),
        ("ACQUIRING_RESOURCES", False, True),
        ("RUNNING", False, True),
        ("RETRY_SCHEDULED", False, False),
        ("SUCCESS", True, False),
        ("FAILURE", True, False),
    ],
)
def test_the_state_decides_whether_a_task_is_ended_or_leased(
    status: Status, ended: bool, leased: bool
) -> None:
    task = task_record(status=status)
    assert (task.ended, task.leased) == (ended, leased)


LEASE: dict[str, Any] = {"leased_by": "w1", "lease_acquired_at": 5_000}


@pytest.mark.parametrize(
    ("after", "follows"),
    [
        (LEASE | {"version": 3}, True),
        (LEASE | {"version": 2}, False),
        (LEASE | {"version": 4}, False),
        (LEASE | {"version": 3, "leased_by": "w2"}, False),
        (LEASE | {"version": 3, "lease_acquired_at": 6_000}, False),
    ],
)
def test_only_the_next_version_of_the_same_lease_follows(after: dict[str, Any], follows: bool) -> None:
    assert task_record(**after).follows(task_record(version=2, **LEASE)) is follows


async def test_a_row_is_read_with_its_stages_as_a_tuple() -> None:
    task = task_record(stages=("listed", "deleted"), sealed=b"secrets")
    rows = await ScriptedStore([[{**row_of(task), "realm_lock": None}]]).execute(select(1))
    assert TaskRecord.of(rows.one()) == task
