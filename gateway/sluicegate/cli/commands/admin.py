"""`sluicegate admin`: creates, lists and deletes administrators of the Admin API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sluicegate._util.clock import epoch_ms, ms_of, parse_time
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, Target, get, path_of
from sluicegate.cli.options import DURATION
from sluicegate.cli.output import columns, json_option, print_json
from sluicegate.cli.terminal import report


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
@json_option
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    role: Any,
    shares: tuple[str, ...],
    token_lifetime: int | None,
    output: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Create the administrator NAME and print its token, which is not stored.

    \b
    Examples:
      sluicegate admin create ada --role owner --output ada.token
      sluicegate admin create sam --role admin --share sales --share returns
    """
    from sluicegate.config.private_files import new_private_file

    body = {
        "name": name,
        "role": role,
        "shares": list(shares) or None,
        "token_lifetime": token_lifetime,
        "replace": replace,
    }

    async def post(target: Target) -> tuple[Content, bool]:
        made = await target.send("POST", "/admins", body=body)
        return made.content, target.has_admin_api

    if output is None:
        made, has_admin_api = manage(ctx, post)
        token = made.pop("token")
        if not as_json:
            click.echo(token)
        made |= {"token": token}
    else:
        with new_private_file(Path(output), overwrite=False, remedy="create it again") as write:
            made, has_admin_api = manage(ctx, post)
            write(f"{made.pop('token')}\n".encode())
        made |= {"token_file": output}
    if as_json:
        print_json(made)
    else:
        where = f"; token written to {output}" if output else ""
        click.echo(f"{name}: {role} created{where}; the token expires {made['expires_at']}", err=True)
    if not has_admin_api:
        report("warning", "the Admin API is disabled; to enable it, set admin: {}")


@admin.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List administrators with tokens, their roles and shares.

    \b
    Examples:
      sluicegate admin list
      sluicegate admin list --json
    """
    found = manage(ctx, lambda target: get(target, "/admins"))["items"]
    if as_json:
        print_json(found)
        return
    for line in columns(("NAME", "ROLE", "SHARES", "EXPIRES"), [_row(each) for each in found]):
        click.echo(line)


@admin.command()
@click.argument("name")
@json_option
@click.pass_context
def delete(ctx: click.Context, name: str, as_json: bool) -> None:
    """Delete the administrator NAME. Its token is invalid immediately.

    \b
    Example:
      sluicegate admin delete sam
    """
    manage(ctx, lambda target: target.send("DELETE", path_of("/admins/{}", name)))
    if as_json:
        print_json({"name": name, "state": "deleted"})
    else:
        click.echo(f"{name}: administrator deleted")


def _row(admin: Content) -> tuple[str, ...]:
    shares = "all" if admin["shares"] is None else ", ".join(admin["shares"])
    expired = " (expired)" if ms_of(parse_time(admin["expires_at"])) <= epoch_ms() else ""
    return admin["name"], admin["role"], shares, admin["expires_at"] + expired
