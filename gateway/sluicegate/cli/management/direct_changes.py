"""Records what commands change in the database directly, before they change it."""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import SluicegateError, deciding_rule

if TYPE_CHECKING:
    from sluicegate.access.shares_file.diff import Difference
    from sluicegate.audit.records import AuditRecord, Outcome
    from sluicegate.config import Settings
    from sluicegate.database import Store


@dataclass(frozen=True, slots=True)
class CommandChange:
    """What a command is about to change.

    Attributes:
        action: The operation; that of the Admin API, if it has the same.
        resource: Name of what is changed.
        changes: One line for each change.
    """

    action: str
    resource: str | None = None
    changes: tuple[str, ...] = ()

    @classmethod
    def of(cls, action: str, difference: Difference, *more: str) -> CommandChange | None:
        """The changes of a difference, and further ones; `None` if there are none."""
        from sluicegate.access.shares_file.diff import Difference, render

        lines: Iterable[str] = ()
        if difference.changes:
            lines = render(Difference(difference.changes, ()))
        changes = (*lines, *more)
        return cls(action, None, changes) if changes else None


@asynccontextmanager
async def recorded(
    settings: Settings, store: Store, change: CommandChange | None
) -> AsyncIterator[None]:
    """Record a change before the block makes it, and record it again if the block fails.

    Args:
        settings: The configuration, whose section `audit` says where.
        store: The open database.
        change: The change, or `None` if there is nothing to record.

    Raises:
        Unavailable: It can't be recorded, and the configuration requires it. The block is not entered.
    """
    if change is None or settings.audit.mode == "off":
        yield
        return
    from sluicegate.audit.assembly import audit_log
    from sluicegate.signing.load import load_keys

    async with audit_log(settings, load_keys(settings), store, lambda event: None) as log:
        await log.write(_record(change, "allowed"))
        try:
            yield
        except Exception as error:
            refused = isinstance(error, SluicegateError) and error.status < 500
            rule = deciding_rule(error)
            await log.write(_record(change, "refused" if refused else "failed", rule))
            raise


def _record(change: CommandChange, outcome: Outcome, rule: str | None = None) -> AuditRecord:
    from sluicegate.audit.records import AuditRecord

    return AuditRecord(
        at=epoch_ms(),
        request_id=None,
        actor_kind="command",
        actor=system_user(),
        actor_id=None,
        method=None,
        address=None,
        action=change.action,
        resource=change.resource,
        outcome=outcome,
        status=None,
        rule=rule,
        changes=change.changes if outcome == "allowed" else (),
    )


def system_user() -> str:
    """The user of the operating system."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container can run with an id that has no name
        return f"uid {os.getuid()}"
