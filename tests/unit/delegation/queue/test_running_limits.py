"""The tasks among which a worker looks for one."""

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database.statements.clock import NOW
from sluicegate.delegation.queue.running_limits import Candidates, RunningLimits


def test_full_operations_and_schedules_are_left_out() -> None:
    candidates = Candidates(["A", "B"])
    assert candidates.parameters == {"operations": ["A", "B"]}
    candidates.leave_out("operation", "A")
    candidates.leave_out("schedule", "nightly")
    assert candidates.parameters == {"operations": ["B"], "without_schedules": ["nightly"]}


def test_a_realm_has_its_own_limit_or_that_of_all() -> None:
    limits = RunningLimits(DelegationSettings(max_running_per_realm=3, realm_limits={"prod": 7}), NOW)
    assert (limits.of_realm("prod"), limits.of_realm("other")) == (7, 3)
