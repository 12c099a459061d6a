"""When a failed task is tried again.

Source: polaris-delegation-service.md, "Configuration of Retry Policies".
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sluicegate.config.delegation import DelegationSettings, RetrySettings


@dataclass(frozen=True, slots=True)
class RetryPolicies:
    """The policy of each operation.

    Attributes:
        chance: A number from 0 up to 1, for the jitter.
    """

    settings: DelegationSettings
    chance: Callable[[], float] = random.random

    def policy(self, operation: str) -> RetrySettings:
        """The default policy with what the configuration changes for an operation."""
        override = self.settings.retry_overrides.get(operation)
        if override is None:
            return self.settings.retry
        return self.settings.retry.model_copy(update=override.model_dump(exclude_none=True))

    def exhausted(self, operation: str, attempts: int) -> bool:
        """Whether no attempt is left after so many."""
        return attempts >= self.policy(operation).max_attempts

    def backoff_ms(self, operation: str, attempts: int) -> int:
        """Milliseconds until the next attempt, after so many (1 at least)."""
        policy = self.policy(operation)
        try:
            wait = policy.initial_backoff * policy.backoff_multiplier ** (attempts - 1)
        except OverflowError:
            wait = policy.max_backoff
        shortened = min(wait, policy.max_backoff) * (1 - policy.jitter * self.chance())
        return int(shortened * 1000)
