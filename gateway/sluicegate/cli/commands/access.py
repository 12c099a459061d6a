"""`sluicegate access`: explains which recipients can read a table, and through which protocols."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeVar, get_args

import click

from sluicegate.cli.context import load_settings, run_async

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.models import AssetPath, Explanation, NamedKind, Readers
    from sluicegate.protocols.explain.who_can import WhoCan

_Result = TypeVar("_Result")

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
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


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
@click.argument("recipient")
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
@_json_option
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
    from sluicegate.cli.explained import explanation_json, explanation_lines
    from sluicegate.protocols.explain.models import Action

    wanted = next(each for each in get_args(Action) if each == action)

    async def ask(explainer: Explainer, _: WhoCan) -> Explanation:
        return await explainer.explain(
            recipient,
            _path(table),
            action=wanted,
            kind=_kind(kind),
            address=address,
            offline=offline,
        )

    found = _answered(load_settings(ctx), ask)
    if as_json:
        click.echo(json.dumps(explanation_json(found), indent=2, ensure_ascii=False))
    else:
        for line in explanation_lines(found):
            click.echo(line)
    if not found.allowed:
        ctx.exit(_REFUSED)


@access.command("who-can")
@click.argument("table", metavar="SHARE.SCHEMA.TABLE")
@_kind_option
@_offline_option
@_json_option
@click.pass_context
def who_can(ctx: click.Context, table: str, kind: str | None, offline: bool, as_json: bool) -> None:
    """List the recipients that were granted the share of a table, and whether each can read it now.

    The exit code is 0 if a recipient can read it, 1 if none can, and 2 if a name is unknown.

    \b
    Examples:
      sluicegate access who-can sales.eu.orders
      sluicegate access who-can sales.eu.orders --offline --json
    """
    from sluicegate.cli.explained import readers_json, readers_lines

    async def ask(_: Explainer, who: WhoCan) -> Readers:
        return await who.readers(_path(table), kind=_kind(kind), offline=offline)

    found = _answered(load_settings(ctx), ask)
    if as_json:
        click.echo(json.dumps(readers_json(found), indent=2, ensure_ascii=False))
    else:
        for line in readers_lines(found):
            click.echo(line)
    if not any(reader.allowed for reader in found.readers):
        ctx.exit(_REFUSED)


def _answered(settings: Settings, ask: Callable[[Explainer, WhoCan], Awaitable[_Result]]) -> _Result:
    """The answer of a gateway with this configuration, which serves nothing.

    Raises:
        UsageError: A name is unknown.
    """
    from sluicegate.access.explain.lookups import UnknownName
    from sluicegate.app import Gateway

    async def run() -> _Result:
        async with Gateway.running(settings) as gateway:
            return await ask(*gateway.explanations())

    # Steps contain the reasons that a gateway would log.
    gateway_log, ignored = logging.getLogger("sluicegate"), logging.NullHandler()
    gateway_log.addHandler(ignored)
    try:
        return run_async(run())
    except UnknownName as error:
        raise click.UsageError(error.message) from error
    finally:
        gateway_log.removeHandler(ignored)


def _path(table: str) -> AssetPath:
    from sluicegate.protocols.explain.models import AssetPath

    parts = table.rsplit(".", 2)  # only a share's name can contain periods
    if len(parts) != 3 or not all(parts):
        raise click.UsageError(f"{table!r} is not a name such as SHARE.SCHEMA.TABLE")
    return AssetPath(*parts)


def _kind(kind: str | None) -> NamedKind | None:
    from sluicegate.api import ASSET_KINDS

    kinds: tuple[NamedKind, ...] = ("table", *ASSET_KINDS)
    return next((each for each in kinds if each == kind), None)
