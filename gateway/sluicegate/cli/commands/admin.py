"""`sluicegate admin`: creates, lists and deletes administrators of the Admin API."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.durations import DURATION
from sluicegate.cli.recorded import CommandChange
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.admin.tokens import AdminRecord, AdminTokens
    from sluicegate.config import Settings

_Result = TypeVar("_Result")


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(admin)


@click.group()
def admin() -> None:
    """Create, list and delete administrators of the Admin API.

    \b
    Examples:
      sluicegate admin create ada --role owner
      sluicegate admin list
    """


@admin.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["viewer", "admin", "owner"]),
    required=True,
    help="viewer reads; admin manages shares and recipients; owner also manages administrators.",
)
@click.option(
    "--share",
    "shares",
    multiple=True,
    metavar="SHARE",
    help="Limit the administrator to this share; can be repeated.  [default: all shares]",
)
@click.option(
    "--token-lifetime",
    type=DURATION,
    metavar="DURATION",
    help="How long its token is valid, such as 90d.",
)
@click.option("--output", metavar="FILE", help="File to write the token to, instead of printing it.")
@click.option("--replace", is_flag=True, help="Replace the administrator NAME and its token.")
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    role: Any,
    shares: tuple[str, ...],
    token_lifetime: int | None,
    output: str | None,
    replace: bool,
) -> None:
    """Create the administrator NAME and print its token, which is not stored.

    \b
    Examples:
      sluicegate admin create ada --role owner --output ada.token
      sluicegate admin create sam --role admin --share sales --share returns
    """
    from sluicegate.config.private_files import new_private_file

    settings = load_settings(ctx)
    sign, scope = "~" if replace else "+", ", ".join(shares) or "all shares"

    def make() -> tuple[str, AdminRecord]:
        made = _run(
            settings,
            lambda service: service.create(
                name, role, shares=shares or None, token_lifetime=token_lifetime, replace=replace
            ),
            CommandChange("createAdmin", name, (f"{sign} administrator {name}: {role} for {scope}",)),
        )
        return made.token, made.admin

    if output is None:
        token, made = make()
        click.echo(token)
    else:
        with new_private_file(Path(output), overwrite=False, remedy="create it again") as write:
            token, made = make()
            write(f"{token}\n".encode())
    where = f"; token written to {output}" if output else ""
    click.echo(f"{name}: {role} created{where}; the token expires {iso_utc(made.expires_at)}", err=True)
    if settings.admin is None:
        click.echo("warning: the Admin API is disabled; to enable it, set admin: {}", err=True)


@admin.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List administrators with tokens, their roles and shares.

    \b
    Examples:
      sluicegate admin list
      sluicegate admin list --json
    """
    found = _run(load_settings(ctx), lambda service: service.list())
    if as_json:
        click.echo(json.dumps([_as_json(each) for each in found], indent=2, ensure_ascii=False))
        return
    for line in columns(("NAME", "ROLE", "SHARES", "EXPIRES"), [_row(each) for each in found]):
        click.echo(line)


@admin.command()
@click.argument("name")
@click.pass_context
def delete(ctx: click.Context, name: str) -> None:
    """Delete the administrator NAME. Its token is invalid immediately.

    \b
    Example:
      sluicegate admin delete sam
    """
    change = CommandChange("deleteAdmin", name, (f"- administrator {name}",))
    _run(load_settings(ctx), lambda service: service.delete(name), change)
    click.echo(f"{name}: administrator deleted")


def _run(
    settings: Settings,
    work: Callable[[AdminTokens], Awaitable[_Result]],
    change: CommandChange | None = None,
) -> _Result:
    from sluicegate.admin.tokens import AdminTokens
    from sluicegate.config.admin.settings import AdminSettings

    section = settings.admin or AdminSettings()

    async def run() -> _Result:
        async with open_store(settings, change) as store:
            return await work(AdminTokens(store, token_lifetime=section.token_lifetime))

    return run_async(run())


def _as_json(admin: AdminRecord) -> dict[str, Any]:
    return {
        "name": admin.name,
        "role": admin.role,
        "shares": None if admin.shares is None else list(admin.shares),
        "created_at": iso_utc(admin.created_at),
        "expires_at": iso_utc(admin.expires_at),
    }


def _row(admin: AdminRecord) -> tuple[str, ...]:
    shares = "all" if admin.shares is None else ", ".join(admin.shares)
    expired = " (expired)" if admin.expires_at <= epoch_ms() else ""
    return admin.name, admin.role, shares, iso_utc(admin.expires_at) + expired
