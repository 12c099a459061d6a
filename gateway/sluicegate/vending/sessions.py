"""Ends the sessions that a recipient was given, storage by storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from sluicegate.api import CredentialVendor, EndedSessions, Principal, SluicegateError
from sluicegate.registry import Instances


@dataclass(frozen=True, slots=True)
class SessionsOutcome:
    """What became of one storage's sessions: `ended`, or the `error` that prevented it."""

    storage: str
    ended: EndedSessions | None = None
    error: SluicegateError | None = None


async def end_sessions(
    instances: Instances, principal: Principal, before: int
) -> AsyncIterator[SessionsOutcome]:
    """Ask every configured storage that vends; one that fails does not keep the others.

    Args:
        instances: The configured ones.
        principal: Whose sessions.
        before: What was given before this moment (epoch milliseconds) shall end.
    """
    for name, storage in instances.storages.items():
        if not isinstance(storage, CredentialVendor) or not storage.vends(storage.prefix):
            continue
        try:
            yield SessionsOutcome(name, ended=await storage.end_sessions(principal, before))
        except SluicegateError as error:
            yield SessionsOutcome(name, error=error)
