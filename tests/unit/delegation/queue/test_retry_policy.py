import pytest

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.retry_policy import RetryPolicies


def policies(chance: float = 0.0, **settings: object) -> RetryPolicies:
    return RetryPolicies(DelegationSettings.model_validate(settings), lambda: chance)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600)])
def test_the_delay_doubles_until_the_longest(attempts: int, seconds: int) -> None:
    assert policies().backoff_ms("TABLE_PURGE", attempts) == seconds * 1000


def test_a_delay_too_large_for_a_float_is_the_longest() -> None:
    assert policies().backoff_ms("TABLE_PURGE", 10_000) == 3_600_000


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 30_000), (0.5, 28_500), (0.999, 27_003)])
def test_jitter_shortens_the_delay_by_up_to_its_fraction(chance: float, expected: int) -> None:
    assert policies(chance).backoff_ms("TABLE_PURGE", 1) == expected


def test_jitter_also_spreads_the_longest_delay() -> None:
    assert policies(0.5).backoff_ms("TABLE_PURGE", 100) == 3_420_000


def test_the_default_jitter_stays_within_its_fraction() -> None:
    policy = RetryPolicies(DelegationSettings())
    delays = [policy.backoff_ms("TABLE_PURGE", 1) for _ in range(200)]
    assert all(27_000 <= delay <= 30_000 for delay in delays)
    assert len(set(delays)) > 1


@pytest.mark.parametrize(("attempts", "exhausted"), [(4, False), (5, True), (6, True)])
def test_attempts_are_exhausted_at_the_maximum(attempts: int, exhausted: bool) -> None:
    assert policies().exhausted("TABLE_PURGE", attempts) is exhausted


def test_an_override_changes_only_its_own_keys_of_its_operation() -> None:
    changed = policies(retry_overrides={"COMPACTION": {"max_attempts": 2, "max_backoff": 40}})
    assert changed.exhausted("COMPACTION", 2)
    assert not changed.exhausted("TABLE_PURGE", 2)
    assert [changed.backoff_ms("COMPACTION", each) for each in (1, 2)] == [30_000, 40_000]
    assert changed.backoff_ms("TABLE_PURGE", 2) == 60_000
