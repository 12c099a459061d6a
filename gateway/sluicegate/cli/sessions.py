"""Ends the storage sessions of a recipient, for `sluicegate recipient revoke --sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import UnsupportedOperation

if TYPE_CHECKING:
    from sluicegate.api import Principal
    from sluicegate.config import Settings
    from sluicegate.vending.sessions import SessionsOutcome


async def end_all_sessions(settings: Settings, principal: Principal) -> bool:
    """End a recipient's sessions in every storage, and print the outcomes.

    Returns:
        Whether no storage failed.
    """
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.context import NoLinks
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
        done = "sessions ended" if outcome.ended.applied else "an administrator must end the sessions"
        click.echo(f"{place}: {done}\n{outcome.ended.instructions}")
        return True
    error = outcome.error
    reason = f": {error.detail}" if error and error.detail else ""
    click.echo(f"{place}: {error}{reason}", err=True)
    return isinstance(error, UnsupportedOperation)  # those sessions only expire
