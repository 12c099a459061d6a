"""Ends the storage sessions of a recipient, for `sluicegate recipient revoke --sessions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import UnsupportedOperation

if TYPE_CHECKING:
    from sluicegate.api import Principal
    from sluicegate.config import Settings
    from sluicegate.vending.sessions import SessionsOutcome


async def end_all_sessions(settings: Settings, principal: Principal) -> list[SessionsOutcome]:
    """End a recipient's sessions in every storage that vends, and return the outcomes."""
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.context import NoLinks
    from sluicegate.vending.sessions import end_sessions

    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    try:
        return [each async for each in end_sessions(instances, principal, epoch_ms())]
    finally:
        await instances.aclose()


def print_outcomes(outcomes: Sequence[SessionsOutcome], *, errors_only: bool = False) -> None:
    """Print what happened in each storage, its errors on standard error."""
    for outcome in outcomes:
        place = f"storage '{outcome.storage}'"
        if outcome.error is not None:
            reason = f": {outcome.error.detail}" if outcome.error.detail else ""
            click.echo(f"{place}: {outcome.error}{reason}", err=True)
        elif outcome.ended is not None and not errors_only:
            applied = outcome.ended.applied
            done = "sessions ended" if applied else "an administrator must end the sessions"
            click.echo(f"{place}: {done}\n{outcome.ended.instructions}")
    if not outcomes and not errors_only:
        click.echo("no configured storage vends credentials: there are no sessions to end")


def are_complete(outcomes: Sequence[SessionsOutcome]) -> bool:
    """Whether no storage failed. Where sessions only expire, nothing could be done."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return all(isinstance(error, UnsupportedOperation) for error in errors)


def outcomes_as_json(outcomes: Sequence[SessionsOutcome]) -> list[dict[str, Any]]:
    """The outcomes as values for JSON."""
    return [
        {
            "storage": outcome.storage,
            "ended": outcome.ended is not None and outcome.ended.applied,
            "instructions": outcome.ended and outcome.ended.instructions,
            "error": outcome.error and outcome.error.for_operators,
        }
        for outcome in outcomes
    ]
