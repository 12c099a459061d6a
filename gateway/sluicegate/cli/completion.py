"""Completes names of shares, recipients and catalogs in shells: quickly, and silently on failure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.server import is_remote
from sluicegate.cli.management.target import Target, items

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.database.urls import DatabaseUrl

Completer = Callable[[click.Context, click.Parameter, str], list[str]]

# Nobody waits longer for a key press, such as for a database that does not respond.
_TIMEOUT = 2.0
_MAX_NAMES = 1000
# Shells insert names as they are: one with other characters could run a command.
_PLAIN = re.compile(r"[\w.@%+=:,-]+")


def complete_names(kind: Literal["share", "recipient"]) -> Completer:
    """Completes with names in the configured database, which is neither created nor upgraded."""
    return _completer(lambda settings: _stored_names(settings, kind), f"/{kind}s")


def complete_catalogs() -> Completer:
    """Completes with names of configured catalogs."""
    return _completer(lambda settings: list(settings.catalogs), "/catalogs")


def _completer(names: Callable[[Settings], Sequence[str]], path: str) -> Completer:
    """Completes with names."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            if is_remote(ctx):
                found: Sequence[str] = manage(ctx, lambda target: _listed_names(target, path))
            else:
                found = names(load_settings(ctx, warn=False))
        except Exception:
            return []  # a message would appear in the middle of the line that the user types
        prefix = incomplete.casefold()
        return [name for name in found if name.casefold().startswith(prefix) and _PLAIN.fullmatch(name)]

    return complete


async def _listed_names(target: Target, path: str) -> Sequence[str]:
    async with asyncio.timeout(_TIMEOUT):
        return [each["name"] for each in await items(target, path, limit=_MAX_NAMES)]


def _stored_names(settings: Settings, kind: Literal["share", "recipient"]) -> Sequence[str]:
    from pathlib import Path

    from sluicegate.database.urls import DatabaseUrl

    url = DatabaseUrl.parse(settings.database.get_secret_value())
    if url.dialect == "sqlite" and not Path(url.target).exists():
        return []
    return run_async(_read_names(url, kind))


async def _read_names(url: DatabaseUrl, kind: Literal["share", "recipient"]) -> Sequence[str]:
    from sqlalchemy import select

    from sluicegate.database import Store
    from sluicegate.database.tables import recipients, shares

    table = {"share": shares, "recipient": recipients}[kind]
    store = Store(url)
    try:
        async with asyncio.timeout(_TIMEOUT), store.read() as connection:
            query = select(table.c.name).order_by(table.c.key).limit(_MAX_NAMES)
            return (await connection.execute(query)).scalars().all()
    finally:
        await store.aclose()
