"""What `sluicegate recipient revoke --sessions` does behind the revocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sluicegate.clock import epoch_ms
from sluicegate.errors import UnsupportedOperation

if TYPE_CHECKING:
    from sluicegate.api import Principal
    from sluicegate.config import Settings
    from sluicegate.vending.sessions import SessionsOutcome


async def end_all_sessions(settings: Settings, principal: Principal) -> bool:
    """End what a recipient was given until now, and tell what was done; whether nothing failed."""
    from sluicegate.registry import Instances, Registry, configure
    from sluicegate.registry.contexts import NoLinks
    from sluicegate.vending.sessions import end_sessions

    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    told, complete = False, True
    try:
        async for outcome in end_sessions(instances, principal, epoch_ms()):
            told = True
            complete = _tell(outcome) and complete
    finally:
        await instances.aclose()
    if not told:
        click.echo("no configured storage vends credentials: there are no sessions to end")
    return complete


def _tell(outcome: SessionsOutcome) -> bool:
    place = f"storage '{outcome.storage}'"
    if outcome.ended is not None:
        done = "sessions ended" if outcome.ended.applied else "to be done by an administrator"
        click.echo(f"{place}: {done}\n{outcome.ended.instructions}")
        return True
    error = outcome.error
    reason = f": {error.detail}" if error and error.detail else ""
    click.echo(f"{place}: {error}{reason}", err=True)
    return isinstance(error, UnsupportedOperation)  # those sessions end by themselves
