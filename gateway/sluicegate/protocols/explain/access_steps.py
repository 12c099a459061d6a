"""The steps that decide about a recipient, which all explanations use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sluicegate._util.clock import epoch_ms
from sluicegate.access.explain.lookups import KnownRecipient, Lookups
from sluicegate.access.explain.sender import Sender, explain_sender
from sluicegate.access.explain.steps import Step
from sluicegate.api import PolicyAction, Principal, SharedTable
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.explain.attempts import ReadAttempts
from sluicegate.protocols.explain.finder import Finder
from sluicegate.protocols.explain.limits import policy_step


@dataclass(frozen=True, slots=True)
class AccessSteps:
    """Decides on steps as requests do.

    Attributes:
        authentication: ways to authenticate other than the gateway's credentials.
        lookups: Finds recipients.
        finder: Finds tables and assets.
        resolver: Calls policies.
        attempts: Tries the ways to read.
        now: Epoch milliseconds.
    """

    authentication: AuthenticationSettings
    lookups: Lookups
    finder: Finder
    resolver: Resolver
    attempts: ReadAttempts
    now: Callable[[], int] = epoch_ms

    def sender(self, known: KnownRecipient, address: str | None) -> Sender:
        """Whether the requests of a recipient from an address are authenticated."""
        return explain_sender(known, self.authentication, address, self.now())

    async def policy(self, principal: Principal, action: PolicyAction, shared: SharedTable) -> Step:
        """The decision of all policies about an action."""
        return await policy_step(self.resolver, principal, action, shared)
