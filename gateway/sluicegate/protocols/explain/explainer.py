"""Explains whether a recipient can read a table or another asset now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.access.explain.lookups import KnownRecipient
from sluicegate.access.explain.sender import Sender
from sluicegate.access.explain.steps import Step, refusal
from sluicegate.protocols.explain.access_steps import AccessSteps, limit_steps
from sluicegate.protocols.explain.finder import Found
from sluicegate.protocols.explain.listings import Listings
from sluicegate.protocols.explain.models import (
    WAYS_OF,
    Action,
    AssetPath,
    Explanation,
    NamedKind,
    Way,
    WayName,
)

_VENDING: tuple[Action, ...] = ("vend", "dir")


@dataclass(frozen=True, slots=True)
class _Case:
    """What is explained, and what is known about it."""

    sender: Sender
    path: AssetPath
    found: Found
    granted: bool


class Explainer:
    """Explains access with the steps of requests."""

    def __init__(self, steps: AccessSteps, listings: Listings) -> None:
        self._steps = steps
        self._listings = listings

    async def explain(
        self,
        recipient: str,
        path: AssetPath,
        *,
        action: Action = "read",
        kind: NamedKind | None = None,
        address: str | None = None,
        offline: bool = False,
    ) -> Explanation:
        """Explain what requests of a recipient for a table or asset get now."""
        known = await self._steps.lookups.recipient(recipient)
        found = await self._steps.finder.find(path, kind, offline=offline)
        sender = self._steps.sender(known, address)
        case = _Case(sender, path, found, found.share.id in known.shares)
        steps = [*sender.steps, _grant(case, known), *found.steps, *await self._limits(case)]
        ways = () if offline else await self._tried(case)
        listed, listed_in_iceberg = (None, None) if offline else await self._listed(case)
        return Explanation(
            recipient=known.record.name,
            path=str(path) if found.shared is None else found.shared.full_name,
            kind=found.kind,
            action=action,
            allowed=_possible(case, steps, action, None if offline else ways),
            steps=tuple(steps),
            ways=ways,
            listed=listed,
            listed_in_iceberg=listed_in_iceberg,
        )

    async def _limits(self, case: _Case) -> list[Step]:
        shared, principal = case.found.shared, case.sender.principal
        if shared is None:
            return []
        read = await self._steps.policy(principal, "read", shared)
        steps = [read]
        if read.outcome == "allowed" and "dir" in shared.access_modes:
            steps.append(await self._steps.policy(principal, "vend", shared))
        return [*steps, *limit_steps(principal, shared)]

    async def _tried(self, case: _Case) -> tuple[Way, ...]:
        error = case.sender.error
        if error is None:
            return await self._steps.attempts.attempt(case.sender.principal, case.path, case.found.kind)
        names: Sequence[WayName] = WAYS_OF["read"] if case.found.kind == "table" else ("dir",)
        return tuple(Way(each, error.status, error.code, error.for_operators) for each in names)

    async def _listed(self, case: _Case) -> tuple[bool, bool]:
        """Whether listings of Delta Sharing and of the Iceberg catalog show it."""
        shared, principal = case.found.shared, case.sender.principal
        if shared is None or not case.granted or case.sender.error is not None:
            return False, False
        return (
            await self._listings.of_sharing(principal, case.found, shared),
            await self._listings.of_iceberg(principal, case.path, case.found, shared),
        )


def _grant(case: _Case, known: KnownRecipient) -> Step:
    name = case.found.share.name
    if case.granted:
        return Step("grant", "allowed", f"the share '{name}' is granted to '{known.record.name}'")
    return Step("grant", "refused", f"the share '{name}' is not granted to '{known.record.name}'")


def _possible(case: _Case, steps: Sequence[Step], action: Action, ways: Sequence[Way] | None) -> bool:
    if case.sender.error is not None or not case.granted:
        return False
    if ways is not None:
        return any(way.is_open for way in ways if way.name in WAYS_OF[action])
    shared = case.found.shared
    decisive = [each for each in steps if each.name != "policy vend" or action in _VENDING]
    if refusal(decisive) is not None or shared is None:
        return refusal(decisive) is None
    modes = {"url": ("url",), "dir": ("dir",), "vend": ("dir",)}.get(action, ("url", "dir"))
    return any(mode in shared.access_modes for mode in modes)
