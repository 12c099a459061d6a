"""Creates activation links for `sluicegate recipient create` and `rotate`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from sluicegate._util.clock import iso_utc
from sluicegate.cli.context import run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.output import print_json
from sluicegate.cli.recorded import CommandChange

if TYPE_CHECKING:
    from sluicegate.access.activation.links import ActivationLinks, NewLink
    from sluicegate.config import Settings


def print_link(
    settings: Settings,
    make: Callable[[ActivationLinks], Awaitable[NewLink]],
    change: CommandChange,
    *,
    as_json: bool = False,
) -> None:
    """Create a link, and print it on standard output; what to do with it, on standard error.

    Args:
        settings: The settings, with the URL at which recipients reach the gateway.
        make: Creates the link.
        change: What that changes, which is recorded in the audit log before.
        as_json: Print an object with `recipient`, `activation_url` and `expires_at` instead.
    """
    from sluicegate.access.activation.links import ActivationLinks

    async def run() -> NewLink:
        async with open_store(settings, change) as store:
            return await make(ActivationLinks(store, settings.recipients))

    link = run_async(run())
    url, until = link.url(settings.public_url), iso_utc(link.expires_at)
    if as_json:
        print_json({"recipient": link.recipient, "activation_url": url, "expires_at": until})
        return
    click.echo(url)
    click.echo(
        f"{link.recipient}: send this link over a private channel; it works once, until {until}",
        err=True,
    )
