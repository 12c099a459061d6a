"""Ends the sessions of a recipient in every storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from sluicegate.api import CredentialVendor, EndedSessions, Principal, SluicegateError
from sluicegate.plugins import Instances


@dataclass(frozen=True, slots=True)
class SessionsOutcome:
    """The result for one storage: `ended`, or the `error` that prevented it."""

    storage: str
    ended: EndedSessions | None = None
    error: SluicegateError | None = None


async def end_sessions(
    instances: Instances, principal: Principal, before: int
) -> AsyncIterator[SessionsOutcome]:
    """End sessions in every configured storage that vends, even if one of them fails."""
    for name, storage in instances.storages.items():
        if not isinstance(storage, CredentialVendor) or not storage.vends(storage.prefix):
            continue
        try:
            yield SessionsOutcome(name, ended=await storage.end_sessions(principal, before))
        except SluicegateError as error:
            yield SessionsOutcome(name, error=error)
