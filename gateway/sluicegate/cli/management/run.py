"""Runs the work of a command on what it manages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.management.server import given_server
from sluicegate.cli.management.target import Target
from sluicegate.cli.terminal import report

_Result = TypeVar("_Result")
_VERSION_KEY = "sluicegate.server.version"


def manage(
    ctx: click.Context,
    work: Callable[[Target], Awaitable[_Result]],
    *,
    writes_profiles: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> _Result:
    """Return the result of `work` with what the command manages.

    Args:
        on_progress: Is called with the number of sources that were looked up, and of all.
    """

    async def run() -> _Result:
        async with _opened(ctx, on_progress, writes_profiles=writes_profiles) as target:
            return await work(target)

    return run_async(run())


@asynccontextmanager
async def _opened(
    ctx: click.Context, on_progress: Callable[[int, int], None], *, writes_profiles: bool
) -> AsyncIterator[Target]:
    server = given_server(ctx)
    if server is not None:
        from sluicegate.cli.management.remote import open_remote

        async with open_remote(server, lambda version: _report_version(ctx, version)) as remote:
            yield remote
        return
    from sluicegate.cli.management.local import open_local
    from sluicegate.config.served_address import reachable

    settings = load_settings(ctx)
    if writes_profiles:
        settings = reachable(settings)
    async with open_local(settings, on_progress) as local:
        yield local


def _report_version(ctx: click.Context, version: str) -> None:
    from sluicegate import __version__

    if ctx.meta.get(_VERSION_KEY) != version:
        ctx.meta[_VERSION_KEY] = version
        report("note", f"the gateway has version {version}, and this command has version {__version__}")
