"""Lists the recipients that can read a table or another asset now."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from sluicegate.access.explain.lookups import KnownRecipient
from sluicegate.access.explain.sender import Sender
from sluicegate.access.explain.steps import Step, refusal
from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.explain.access_steps import AccessSteps, filter_step
from sluicegate.protocols.explain.finder import Found
from sluicegate.protocols.explain.models import AssetPath, NamedKind, Reader, Readers, Way
from sluicegate.vending.hadoop.bindings import RECIPIENT_PROPERTY

_AT_ONCE = 16
# After this many consecutive failures, policies are considered down, and other recipients are skipped.
_FAILURES = 16


@dataclass(frozen=True, slots=True)
class _Decided:
    """A recipient with the steps that can differ between recipients."""

    sender: Sender
    credentials: str
    steps: Sequence[Step]


class WhoCan:
    """Decides about all recipients that were granted a share.

    Policies are called for each recipient. The table is looked up and read only once for recipients
    that can differ in nothing that decides about it: whether they may get credentials, whether they
    have the properties of its filter, and their kinds of Hadoop tokens.
    """

    def __init__(self, steps: AccessSteps) -> None:
        self._steps = steps

    async def readers(
        self, path: AssetPath, *, kind: NamedKind | None = None, offline: bool = False
    ) -> Readers:
        """The recipients that were granted the share, and whether each can read the table now."""
        found = await self._steps.finder.find(path, kind, offline=offline)
        granted = await self._steps.lookups.granted(found.share)
        decided = await self._decided(found, granted)
        tried: dict[Hashable, tuple[Way, ...]] = {}
        readers = []
        for each in decided:
            ways: tuple[Way, ...] | None = None
            if not offline and found.shared is not None and refusal(each.steps) is None:
                key = _class_of(each)
                if key not in tried:
                    tried[key] = await self._steps.attempts.attempt(
                        each.sender.principal, path, found.kind
                    )
                ways = tried[key]
            readers.append(_reader(each, found, ways))
        name = str(path) if found.shared is None else found.shared.full_name
        return Readers(name, found.kind, tuple(readers))

    async def _decided(self, found: Found, granted: Sequence[KnownRecipient]) -> list[_Decided]:
        decided: list[_Decided] = []
        failures = 0
        for start in range(0, len(granted), _AT_ONCE):
            batch = granted[start : start + _AT_ONCE]
            skipped = failures >= _FAILURES
            made = await asyncio.gather(
                *(self._one(found, known, skip_policies=skipped) for known in batch)
            )
            for each in made:
                down = any(step.outcome == "unavailable" for step in each.steps)
                failures = failures + 1 if down else (failures if skipped else 0)
            decided += made
        return decided

    async def _one(self, found: Found, known: KnownRecipient, *, skip_policies: bool) -> _Decided:
        sender = self._steps.sender(known, None)
        credentials = next(step.reason for step in sender.steps if step.name == "credentials")
        steps = [*sender.steps, *found.steps]
        if found.shared is not None and refusal(steps) is None:
            if skip_policies:
                steps.append(Step("policy read", "unavailable", "policies fail for other recipients"))
            else:
                steps += await self._policies(sender.principal, found.shared)
            if found.shared.partition_filter is not None:
                text = found.shared.partition_filter
                steps.append(filter_step(sender.principal, found.shared, text))
        return _Decided(sender, credentials, steps)

    async def _policies(self, principal: Principal, shared: SharedTable) -> list[Step]:
        read = await self._steps.policy(principal, "read", shared)
        if read.outcome != "allowed" or "dir" not in shared.access_modes:
            return [read]
        vend = await self._steps.policy(principal, "vend", shared)
        if vend.outcome != "allowed" and "url" in shared.access_modes:
            vend = Step(vend.name, "unknown", f"no credentials: {vend.reason}")  # URLs remain
        return [read, vend]


def _class_of(decided: _Decided) -> Hashable:
    """What decides which ways are open, as far as it differs between recipients with access."""
    vend = tuple(step.reason for step in decided.steps if step.name == "policy vend")
    return vend, decided.sender.principal.properties.get(RECIPIENT_PROPERTY)


def _reader(decided: _Decided, found: Found, ways: Sequence[Way] | None) -> Reader:
    name = decided.sender.principal.name
    refused = refusal(decided.steps)
    if refused is not None:
        return Reader(name, False, (), f"{refused.name}: {refused.reason}", decided.credentials)
    opened = tuple(way.name for way in ways or () if way.is_open)
    if ways is not None and not opened:
        return Reader(name, False, (), f"{ways[0].name}: {ways[0].reason}", decided.credentials)
    limits = [
        step.reason
        for step in decided.steps
        if step.name in ("partition_filter", "policy vend") and step.reason != "no policy denies it"
    ]
    limits += [
        step.reason for step in decided.steps if step.name == "network" and step.outcome == "unknown"
    ]
    return Reader(name, found.shared is not None, opened, "; ".join(limits), decided.credentials)
