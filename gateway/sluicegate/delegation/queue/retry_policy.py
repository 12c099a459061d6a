"""Decides when a failed task is retried.

Source: Polaris delegation proposal, "Configuration of Retry Policies".
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sluicegate.config.sections.delegation import DelegationSettings, RetrySettings

BACKOFF_MULTIPLIER = 2.0
"""Factor for the delay after each further failed attempt."""
JITTER = 0.1
"""Largest fraction by which a delay is randomly shortened, so that tasks don't retry all at once."""


@dataclass(frozen=True, slots=True)
class RetryPolicies:
    """The retry policy of each operation."""

    settings: DelegationSettings
    chance: Callable[[], float] = random.random

    def policy(self, operation: str) -> RetrySettings:
        """Return the default policy with the configured changes for an operation."""
        override = self.settings.retry_overrides.get(operation)
        if override is None:
            return self.settings.retry
        return self.settings.retry.model_copy(update=override.model_dump(exclude_none=True))

    def exhausted(self, operation: str, attempts: int) -> bool:
        """Return whether no attempts are left after this many."""
        return attempts >= self.policy(operation).max_attempts

    def backoff_ms(self, operation: str, attempts: int) -> int:
        """Return milliseconds until the next attempt, after this many attempts (at least 1)."""
        policy = self.policy(operation)
        try:
            wait = policy.initial_backoff * BACKOFF_MULTIPLIER ** (attempts - 1)
        except OverflowError:
            wait = policy.max_backoff
        shortened = min(wait, policy.max_backoff) * (1 - JITTER * self.chance())
        return int(shortened * 1000)
