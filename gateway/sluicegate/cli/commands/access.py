"""`sluicegate access`: explains which recipients can read a table, and through which protocols."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import click

from sluicegate._util.printable import printable
from sluicegate.api.errors import NotFound
from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, Query, flags, get, given, path_of
from sluicegate.cli.output import columns, json_option, print_json

_ACTION_TEXTS = {
    "read": "read",
    "vend": "get temporary credentials for",
    "url": "read by presigned URLs (url)",
    "dir": "read by directory (dir)",
    "iceberg": "read as an Iceberg table",
}


def explanation_lines(found: dict[str, Any]) -> Iterator[str]:
    """An explanation for people: the answer, the steps, the ways, and the listings."""
    return map(printable, _explanation(found))


def _explanation(found: dict[str, Any]) -> Iterator[str]:
    can = "can" if found["allowed"] else "cannot"
    yield f"{found['recipient']} {can} {_ACTION_TEXTS[found['action']]} {found['kind']} {found['path']}"
    yield ""
    steps = [(step["name"], step["outcome"], step["reason"]) for step in found["steps"]]
    yield from columns(("STEP", "OUTCOME", "REASON"), steps)
    if found["ways"]:
        yield ""
        ways = [
            (way["name"], "open" if way["open"] else f"{way['status']} {way['code']}", way["reason"])
            for way in found["ways"]
        ]
        yield from columns(("WAY", "STATE", "DETAILS"), ways)
    if found["listed"] is not None:
        yield ""
        shown = {"Delta Sharing": found["listed"], "Iceberg": found["listed_in_iceberg"]}
        listings = [name for name, is_shown in shown.items() if is_shown]
        yield f"shown in listings of: {', '.join(listings) or 'none'}"


def readers_lines(found: dict[str, Any]) -> Iterator[str]:
    """The recipients of a table for people."""
    return map(printable, _readers(found))


def _readers(found: dict[str, Any]) -> Iterator[str]:
    readers = found["readers"]
    able = sum(bool(reader["allowed"]) for reader in readers)
    place = f"{found['kind']} {found['path']}"
    yield f"{able} of {len(readers)} recipients of the share can read {place}"
    if readers:
        yield ""
        header = ("RECIPIENT", "CAN READ", "WAYS", "CREDENTIALS", "REASON")
        yield from columns(header, [_reader_row(reader) for reader in readers])


def _reader_row(reader: dict[str, Any]) -> tuple[str, ...]:
    ways = ", ".join(reader["ways"]) or "-"
    can = {True: "yes", False: "no", None: "-"}[reader["allowed"]]
    return reader["recipient"], can, ways, reader["credentials"], reader["reason"]


_ACTIONS = ("read", "vend", "url", "dir", "iceberg")
_KINDS = ("table", "volume", "model", "skill")
_REFUSED = 1


class AddressType(click.ParamType[str]):
    """The type of options that take an IP address."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that the value is an address of IPv4 or IPv6."""
        try:
            return str(ip_address(value))
        except ValueError:
            self.fail(f"{value!r} is not an IP address, such as 203.0.113.7 or 2001:db8::7", param)


_kind_option = click.option(
    "--kind", type=click.Choice(_KINDS), help="What TABLE names, if a schema has several of one name."
)
_offline_option = click.option(
    "--offline", is_flag=True, help="Do not query catalogs and storage, and leave out the ways."
)


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(access)


@click.group()
def access() -> None:
    """Explain which recipients can read a table, and why.

    \b
    Examples:
      sluicegate access explain acme sales.eu.orders
      sluicegate access who-can sales.eu.orders
    """


@access.command()
@click.argument("recipient", shell_complete=complete_names("recipient"))
@click.argument("table", metavar="SHARE.SCHEMA.TABLE")
@click.option("--from", "address", type=AddressType(), metavar="ADDRESS", help="Address of the sender.")
@click.option(
    "--action",
    type=click.Choice(_ACTIONS),
    default="read",
    show_default=True,
    help="What the recipient wants: to read by any way, by credentials (vend), or by one protocol.",
)
@_kind_option
@_offline_option
@json_option
@click.pass_context
def explain(
    ctx: click.Context,
    recipient: str,
    table: str,
    address: str | None,
    action: str,
    kind: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Explain whether RECIPIENT can read a table, volume, model or skill now, and which rule decides.

    The command applies the steps of requests, and issues no URL or credentials. The exit code is 0 if
    the recipient can, 1 if it can't, and 2 if a name is unknown.

    \b
    Examples:
      sluicegate access explain acme sales.eu.orders
      sluicegate access explain acme sales.eu.orders --from 203.0.113.7 --action dir
    """
    path = path_of("/recipients/{}/access/explain", recipient)
    _split(table)
    query = [
        *given(table=table, action=action, kind=kind, **{"from": address}),
        *flags(offline=offline),
    ]
    found = _answered(ctx, path, query)
    if as_json:
        print_json(found)
    else:
        for line in explanation_lines(found):
            click.echo(line)
    if not found["allowed"]:
        ctx.exit(_REFUSED)


@access.command("who-can")
@click.argument("table", metavar="SHARE.SCHEMA.TABLE")
@_kind_option
@_offline_option
@json_option
@click.pass_context
def who_can(ctx: click.Context, table: str, kind: str | None, offline: bool, as_json: bool) -> None:
    """List the recipients that were granted the share of a table, and whether each can read it now.

    The exit code is 0 if a recipient can read it, 1 if none can, and 2 if a name is unknown.

    \b
    Examples:
      sluicegate access who-can sales.eu.orders
      sluicegate access who-can sales.eu.orders --offline --json
    """
    path = path_of("/shares/{}/schemas/{}/tables/{}/readers", *_split(table))
    found = _answered(ctx, path, [*given(kind=kind), *flags(offline=offline)])
    if as_json:
        print_json(found)
    else:
        for line in readers_lines(found):
            click.echo(line)
    if not any(reader["allowed"] for reader in found["readers"]):
        ctx.exit(_REFUSED)


def _answered(ctx: click.Context, path: str, query: Query) -> Content:
    """The explanation."""
    try:
        return manage(ctx, lambda target: get(target, path, query))
    except NotFound as error:
        raise click.UsageError(error.message) from error


def _split(table: str) -> list[str]:
    parts = table.rsplit(".", 2)  # only a share's name can contain periods
    if len(parts) != 3 or not all(parts):
        raise click.UsageError(f"{table!r} is not a name such as SHARE.SCHEMA.TABLE")
    return parts
