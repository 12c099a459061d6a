"""The steps that decide about a recipient, which all explanations use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sluicegate._util.clock import epoch_ms
from sluicegate.access.directory_access import directory_obstacle
from sluicegate.access.explain.lookups import KnownRecipient, Lookups
from sluicegate.access.explain.sender import Sender, explain_sender
from sluicegate.access.explain.steps import Step
from sluicegate.access.partition_filter import PartitionFilter, RecipientProperty
from sluicegate.api import (
    PermissionDenied,
    PolicyAction,
    Principal,
    SharedAsset,
    SharedTable,
    Unavailable,
)
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.common.shared_scope import term_value
from sluicegate.protocols.explain.attempts import ReadAttempts
from sluicegate.protocols.explain.finder import Finder


async def policy_step(
    resolver: Resolver, principal: Principal, action: PolicyAction, shared: SharedTable
) -> Step:
    """The decision of all policies about an action, and the policy that denies it."""
    name = f"policy {action}"
    try:
        denied = await resolver.denied_by(principal, action, shared)
    except Unavailable as error:
        return Step(name, "unavailable", error.for_operators)
    if denied is None:
        return Step(name, "allowed", "no policy denies it")
    return Step(name, "refused", f"the policy '{denied}' denies it")


def limit_steps(principal: Principal, shared: SharedTable) -> Iterator[Step]:
    """The options of a table that limit what a recipient reads. Other assets have none."""
    if isinstance(shared, SharedAsset):
        return
    if shared.partition_filter is not None:
        yield filter_step(principal, shared, shared.partition_filter)
    if shared.ref is not None:
        yield Step("ref", "allowed", f"only the branch or tag '{shared.ref}'")
    if shared.start_version:
        yield Step("start_version", "allowed", f"versions from {shared.start_version}")
    versions = "all shared versions" if shared.history else "only the latest version"
    feed = "with its change data feed" if shared.change_feed else "without its change data feed"
    yield Step("history", "allowed", f"{versions}, {feed}")
    modes = ", ".join(shared.access_modes)
    obstacle = directory_obstacle(shared) if "dir" in shared.access_modes else None
    yield Step("access_modes", "allowed", f"{modes}; {obstacle}" if obstacle else modes)


def filter_step(principal: Principal, shared: SharedTable, text: str) -> Step:
    """The partition filter of a table with the properties of a recipient."""
    shown: list[str] = []
    for term in PartitionFilter.parse(text).terms:
        try:
            value = term_value(shared, principal, term)
        except PermissionDenied:
            return Step("partition_filter", "refused", f"{text}: {_missing(term.value)}")
        quoted = value.replace("'", "''")
        shown.append(f"{term.column} = '{quoted}'")
    return Step("partition_filter", "allowed", " AND ".join(shown))


def _missing(value: str | RecipientProperty) -> str:
    name = value.name if isinstance(value, RecipientProperty) else value
    return f"the recipient has no property '{name}'"


@dataclass(frozen=True, slots=True)
class AccessSteps:
    """Decides on steps as requests do.

    Attributes:
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
